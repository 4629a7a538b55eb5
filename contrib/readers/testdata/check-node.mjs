import { readFileSync } from "node:fs";
import { check } from "./check.js";

const { cases, wrong } = await check((name) => readFileSync(new URL(name, import.meta.url)));
console.log(`${cases} cases, ${wrong.length} wrong`);
for (const text of wrong.slice(0, 20)) console.log(text);
if (wrong.length || cases < 1000) process.exit(1);
