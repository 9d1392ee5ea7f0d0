// Asks one source with Comunica: an address, sparql@ADDRESS, or data:TURTLE.
import { createRequire } from "node:module";
const require = createRequire(process.env.COMUNICA_HOME + "/");
const { QueryEngine } = require("@comunica/query-sparql");
const [, , named, query] = process.argv;
const [kind, value] = [named.slice(0, named.search(/[@:]/)), named.slice(named.search(/[@:]/) + 1)];
const source = {
  sparql: { type: "sparql", value },
  data: { type: "serialized", value, mediaType: "text/turtle", baseIRI: "urn:base" },
}[kind] ?? named;
const stream = await new QueryEngine().queryBindings(query, { sources: [source] });
const rows = await stream.toArray();
console.log(JSON.stringify(rows.map((row) => Object.fromEntries([...row].map(([name, term]) => [name.value, term.value])))));
