// Asks two sources with Comunica: one query that goes to both, and one with SERVICE.
import { createRequire } from "node:module";
const require = createRequire(process.env.COMUNICA_HOME + "/");
const { QueryEngine } = require("@comunica/query-sparql");
const [, , source, query] = process.argv;
const engine = new QueryEngine();
const stream = await engine.queryBindings(query, { sources: source.split(" ") });
const rows = await stream.toArray();
console.log(JSON.stringify(rows.map((row) => Object.fromEntries([...row].map(([name, term]) => [name.value, term.value])))));
