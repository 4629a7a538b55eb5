import { check } from "./follow.js";

const { steps, wrong } = await check(process.argv[2]);
console.log(`${steps} steps, ${wrong.length} wrong`);
for (const text of wrong) console.log(text);
if (wrong.length || steps < 10) process.exit(1);
