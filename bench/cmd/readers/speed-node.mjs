import { readFileSync } from "node:fs";
import { measure } from "./speed.js";

const kinds = await measure((name) => readFileSync(new URL(name, import.meta.url)));
console.log(JSON.stringify({ name: `Node.js ${process.versions.node}`, kinds }));
