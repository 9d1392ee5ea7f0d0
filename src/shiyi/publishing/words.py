"""Words of the vocabulary's reference, Chinese and English, and how it looks."""

WORDS = {
    "core": ("词汇核心", "Core of the vocabulary"), "classes": ("类", "Classes"),
    "properties": ("属性", "Properties"), "schemes": ("概念体系", "Concept schemes"),
    "shapes": ("约束", "Shapes"), "comma": ("、", ", "), "broader": ("上位", "Broader"),
    "narrower": ("下位", "Narrower"), "domain": ("主体", "Domain"), "range": ("取值", "Range"),
    "inverse": ("逆关系", "Inverse"), "character": ("特征", "Characteristics"),
    "inheritance": ("继承", "Inherited"), "alignment": ("对齐", "Alignment"),
    "source": ("出处", "Source"), "example": ("例", "Example"), "members": ("成员", "Members"),
    "subject_of": ("作主体", "Subject of"), "object_of": ("作取值", "Object of"),
    "Symmetric": ("对称", "symmetric"), "Asymmetric": ("不对称", "asymmetric"),
    "Irreflexive": ("非自反", "irreflexive"), "Transitive": ("传递", "transitive"),
    "to_narrower": ("向下位病证", "by narrower conditions"),
    "to_ingredient": ("由配料向成品", "from ingredient to dish, formula and product"),
    "to_member": ("由类别向成员", "by members of a class"),
    "to_implication": ("沿证候蕴含", "along implied patterns"),
}  # fmt: skip

STYLE = (
    "body{max-width:72rem;margin:auto;padding:1rem;font:1rem/1.6 system-ui,sans-serif;"
    "color:#222;background:#fff}code{font-size:.85em;color:#555}nav{margin:1rem 0}"
    "article{border-top:1px solid #ddd;padding:.4rem 0}h3{margin:.3rem 0}p{margin:.2rem 0}"
    "dl{display:grid;grid-template-columns:8rem 1fr;margin:.3rem 0;gap:.1rem 1rem}dd{margin:0}"
    "dt{color:#666}a{color:#7a2e1d}:target{background:#fff6da}figure{margin:0;overflow-x:auto}"
    "svg{min-width:60rem;width:100%}rect{fill:#fdf3e4;stroke:#9c4a2f}"
    "text{font-size:13px;text-anchor:middle;fill:#222}text.said{font-size:11px;fill:#7a2e1d;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".line{stroke:#9c8a7c;fill:none}#tip path{fill:#9c8a7c}"
    "@media(prefers-color-scheme:dark){body{background:#1b1917;color:#eee}a{color:#f0a98c}"
    "code,dt{color:#aaa}article{border-color:#444}:target{background:#3a3220}"
    "rect{fill:#2c2622}text{fill:#eee}text.said{fill:#f0a98c;stroke:#1b1917}}"
)
