"""Case files as records: JSON, JSON Lines, CSV or free text; fields by their many names."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiyi.errors import FormatError, UsageError
from shiyi.ingest.text.bytes import decode, read_bytes

ENDINGS = (".json", ".jsonl", ".csv", ".txt", ".md")
IDENTITY = {
    "name": "姓名 患者姓名 患者 病人 联系人 家属 医师 name patient_name patient contact physician",
    "phone": "电话 手机 手机号 联系电话 联系方式 phone mobile telephone tel contact_number",
    "address": "地址 住址 家庭住址 现住址 工作单位 单位 籍贯 address home_address employer",
    "id": "身份证 身份证号 身份证号码 病案号 病历号 住院号 门诊号 医保号 社保号 护照号 medical_record_id "
    "id_number mrn ssn passport record_number national_id insurance_number",
    "birth date": "出生日期 出生年月 生日 dob birth_date date_of_birth birthday",
    "e-mail": "邮箱 电子邮箱 email e-mail mail wechat 微信 微信号 qq",
}  # fmt: skip
FIELDS = {
    "text": "clinical_data 病例 医案 病情 正文 主诉及病史 text case content description question 问题 症状描述",
    "complaint": "主诉 chief_complaint complaint",
    "present": "现病史 present_illness",
    "history": "既往史 病史 history medical_history past_history",
    "examination": "查体 体格检查 诊查 舌脉 四诊 examination",
    "sex": "性别 sex gender",
    "age": "年龄 age",
    "symptoms": "clinical_information 症状 symptoms",
    "pathogenesis": "tcm_pathogenesis 病机 pathogenesis",
    "patterns": "tcm_syndrome 证型 证候 证名 辨证 syndrome pattern",
    "disease": "诊断 中医诊断 病名 疾病 diagnosis disease",
    "treatment": "治法 方药 处方 治疗 treatment prescription therapy",
    "first steps": "tcm_pathogenesis_reasoning",
    "second steps": "tcm_syndrome_reasoning",
    "summary": "explanatory_summary 按语 summary comment",
    "answer": "answer 答案 回答 syndrome_differentiation",
    "split": "split 划分",
}  # fmt: skip
_KEYS = {
    each: name for table in (IDENTITY, FIELDS) for name, keys in table.items() for each in keys.split()
}  # fmt: skip
_NARRATIVE = ("complaint", "present", "history", "examination")
_LIST = re.compile(r"[;；、\n|]+")


@dataclass(frozen=True, slots=True)
class Record:
    """One case as it was filed: its own fields, and what names a person, by kind."""

    number: int
    fields: Mapping[str, str]
    identity: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """Give the narrative: the text itself, or complaint, history and examination together."""
        told = [self.fields.get("text", ""), *(self.fields.get(each, "") for each in _NARRATIVE)]
        return "\n".join(dict.fromkeys(each for each in told if each))

    def values(self, name: str) -> tuple[str, ...]:
        """Give the values of a field that lists several."""
        parts = (each.strip() for each in _LIST.split(self.fields.get(name, "")))
        return tuple(dict.fromkeys(each for each in parts if each))

    def steps(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the reasoning on file: from what to what, and the kinds of both."""
        for name, first, second in (
            ("first steps", "symptom", "pathogenesis"), ("second steps", "pathogenesis", "pattern"),
        ):  # fmt: skip
            for each in self.values(name):
                before, _, after = each.replace("：", ":").partition(":")
                for said in re.split(r"[,，]", after):
                    if before.strip() and said.strip():
                        yield before.strip(), said.strip(), first, second


def read_records(path: Path, limit: int, dropped: Counter[str]) -> Iterator[Record]:
    """Yield the cases of a file in order; ``dropped`` counts fields that we do not know.

    Raises :class:`UsageError` where the file is none of cases.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError("file ending", ending or "none", ENDINGS)
    if not path.is_file():
        raise UsageError("the file of cases does not exist")  # its name may hold a person's
    text = decode(read_bytes(path, limit), "the file of cases")
    rows: list[Any]
    if ending in {".txt", ".md"}:
        rows = [
            {"text": each} for each in re.split(r"\n\s*(?:-{3,}|={3,})\s*\n", text) if each.strip()
        ]
    elif ending == ".csv":
        rows = _csv(text)
    else:
        rows = _json(text, ending)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UsageError(f"case {number} is no object with fields")
        yield _record(number, row, dropped)


def _csv(text: str) -> list[Any]:
    try:
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as fault:
        raise UsageError(f"the file of cases is no CSV ({fault})") from None


def _json(text: str, ending: str) -> list[Any]:
    try:
        if ending == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        said = json.loads(text)
    except (ValueError, RecursionError) as fault:
        where = f"line {fault.lineno}" if isinstance(fault, json.JSONDecodeError) else "its depth"
        raise UsageError(f"the file of cases is not JSON ({where})") from None
    if isinstance(said, dict):
        said = next((each for each in said.values() if isinstance(each, list)), [said])
    if not isinstance(said, list):
        raise UsageError("the file of cases holds neither an array nor an object")
    return said


def _record(number: int, row: Mapping[Any, Any], dropped: Counter[str]) -> Record:
    fields: dict[str, str] = {}
    identity: dict[str, str] = {}
    for key, value in row.items():
        name = _KEYS.get(re.sub(r"[\s_-]+", "_", str(key).strip().lower()))
        said = _said(value)
        if not said:
            continue
        if name is None:
            dropped["field left out"] += 1
        elif name in IDENTITY:
            identity[name] = f"{identity[name]};{said}" if name in identity else said
        else:
            fields[name] = f"{fields[name]}\n{said}" if name in fields else said
    return Record(number, fields, identity)


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ";".join(map(_said, value))
    return "" if value is None or isinstance(value, dict) else str(value).strip()
