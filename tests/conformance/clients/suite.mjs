// What clients of npm do with a server; prints the lines that suite.py prints.
// node suite.mjs ADDRESS, in the folder that has node_modules

import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const base = process.argv[2];
const require = createRequire(join(process.cwd(), "suite.cjs"));
const goji = `${base}/id/substance-gouqizi`;

function tool(name) {
  return import(pathToFileURL(require.resolve(name)));
}

async function text(address, accept) {
  const reply = await fetch(address, { headers: { accept } });
  if (!reply.ok) throw new Error(`${address}: ${reply.status}`);
  return reply.text();
}

async function rows(source, query) {
  const { QueryEngine } = (await tool("@comunica/query-sparql")).default;
  const found = await new QueryEngine().queryBindings(query, { sources: [source] });
  return (await found.toArray()).length;
}

function atLeast(count, least, what) {
  if (count < least) throw new Error(`${count} ${what}`);
  return `${count} ${what}`;
}

const cases = [
  ["n3", "a concept as Turtle", async () => {
    const { Parser } = (await tool("n3")).default;
    return atLeast(new Parser().parse(await text(goji, "text/turtle")).length, 50, "triples");
  }],
  ["jsonld", "JSON-LD to N-Quads", async () => {
    const { toRDF } = (await tool("jsonld")).default;
    const quads = await toRDF(JSON.parse(await text(goji, "application/ld+json")));
    return atLeast(quads.length, 50, "triples");
  }],
  ["@comunica/query-sparql", "a concept by its IRI", async () =>
    atLeast(await rows(goji, "SELECT * { ?s ?p ?o }"), 50, "triples")],
  ["@comunica/query-sparql", "the endpoint /sparql/rdf11", async () => {
    const rdf = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>";
    const source = { type: "sparql", value: `${base}/sparql/rdf11` };
    const query = `${rdf} SELECT * { ?claim rdf:subject <https://w3id.org/shiyi/id/substance-gouqizi> }`;
    return atLeast(await rows(source, query), 20, "claims");
  }],
  ["rdf-validate-shacl", "VoID and DCAT by the published shapes of DCAT-AP 3.0.1", async () => {
    const { Parser, Store } = (await tool("n3")).default;
    const parsed = (turtle) => new Store(new Parser().parse(turtle));
    const file = new URL("../../data/vendor/dcat-ap-3.0.1-shapes.ttl", import.meta.url);
    const validator = new (await tool("rdf-validate-shacl")).default(parsed(readFileSync(file, "utf8")));
    const data = parsed(await text(`${base}/.well-known/void`, "text/turtle"));
    const { conforms, results } = await validator.validate(data);
    if (!conforms) throw new Error(`${results[0].focusNode.value} ${results[0].path?.value}`);
    const bare = new Store([...data].filter((quad) => !quad.predicate.value.endsWith("/title")));
    if ((await validator.validate(bare)).conforms) throw new Error("a description without titles passes");
    return `${data.size} triples, valid`;
  }],
  ["@triply/yasgui", "asks /sparql from another origin, in Chromium, and shows a table", async () => {
    const puppeteer = require("puppeteer-core");
    const built = join(process.cwd(), "node_modules/@triply/yasgui/build");
    const query = "SELECT * { ?s a <https://w3id.org/shiyi/vocab#Dish> } LIMIT 7";
    const page = `<!doctype html><link rel="stylesheet" href="/yasgui.min.css"><div id="place"></div>
<script src="/yasgui.min.js"></script><script>
const requestConfig = { endpoint: ${JSON.stringify(`${base}/sparql`)} };
const { yasqe } = new Yasgui(document.getElementById("place"), { requestConfig }).getTab();
yasqe.setValue(${JSON.stringify(query)});
yasqe.query();
</script>`;
    const files = createServer(({ url }, reply) => {
      const [type, body] = {
        "/": ["text/html", () => page],
        "/yasgui.min.css": ["text/css", () => readFileSync(join(built, "yasgui.min.css"))],
        "/yasgui.min.js": ["text/javascript", () => readFileSync(join(built, "yasgui.min.js"))],
      }[url] ?? ["text/plain", () => ""];
      reply.setHeader("content-type", type).end(body());
    });
    await new Promise((ready) => files.listen(0, "127.0.0.1", ready));
    const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
    try {
      const tab = await browser.newPage();
      await tab.goto(`http://127.0.0.1:${files.address().port}/`);
      const rows = ".yasr table.dataTable tbody tr";
      await tab.waitForSelector(`${rows}, .yasr .errorResult`, { timeout: 60000 });
      return atLeast(await tab.$$eval(rows, (found) => found.length), 7, "rows");
    } finally {
      await browser.close();
      files.close();
    }
  }],
  ["openapi-typescript", "a generated client compiles and asks a question", async () => {
    const folder = mkdtempSync(join(process.cwd(), "typed-"));
    const run = (command, ...words) =>
      execFileSync(join(process.cwd(), "node_modules/.bin", command), words, { stdio: "pipe" });
    run("openapi-typescript", `${base}/api/openapi.json`, "-o", join(folder, "api.d.ts"),
      "--default-non-nullable=false");
    writeFileSync(join(folder, "ask.ts"), `import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";
const client = createClient<paths>({ baseUrl: ${JSON.stringify(base)} });
const { data, error } = await client.POST("/api/ask", { body: { question: "枸杞子能和华法林同吃吗？" } });
if (!data) throw new Error(JSON.stringify(error));
const warnings: number = data.warnings.length;
console.log(warnings);
`);
    const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
    run("tsc", ...options, "--rewriteRelativeImportExtensions", join(folder, "ask.ts"));
    const shown = execFileSync(process.execPath, [join(folder, "ask.js")], { encoding: "utf8" });
    return `${shown.trim()} warnings`;
  }],
];

let failed = 0;
for (const [name, what, run] of cases) {
  let outcome = "pass";
  let message = "";
  try {
    message = await run();
  } catch (fault) {
    [outcome, failed] = ["fail", 1];
    message = String(fault.stdout?.length ? fault.stdout : fault).split("\n")[0].slice(0, 200);
  }
  const found = join(process.cwd(), "node_modules", name, "package.json");
  const { version } = JSON.parse(readFileSync(found, "utf8"));
  console.log(JSON.stringify([`${name} ${version}`, what, outcome, message]));
}
process.exit(failed);
