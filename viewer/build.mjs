// Builds the page that `neuraltrees view` fills: one HTML file with all scripts and styles in it.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "neuraltrees", "viewing", "viewer.html");
const read = (...path) => readFileSync(join(here, ...path), "utf8").replaceAll("\r\n", "\n");
const sha256 = (text) => createHash("sha256").update(text).digest();

// The hash of everything the page is made from; tests/viewing/test_bundle.py computes it in the same way.
const sources = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"].concat(
  readdirSync(join(here, "src")).map((name) => `src/${name}`),
);
const digest = createHash("sha256");
for (const name of sources.sort()) digest.update(`${name}\n${read(name)}\n`);

const bundle = async (entry, options) => {
  const built = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    charset: "ascii",
    target: ["chrome110", "firefox110", "safari16"],
    logLevel: "warning",
    ...options,
  });
  return built.outputFiles[0].text.trim();
};
const licence = `/*! three.js\n${read("node_modules", "three", "LICENSE").trim()}\n*/`;
const script = await bundle("src/main.ts", { format: "iife", legalComments: "none", banner: { js: licence } });
const style = await bundle("src/style.css", {});
if (/<\/(script|style)|<!--/i.test(script + style)) throw new Error("the bundle would end its own element");

const hash = (text) => `'sha256-${sha256(text).toString("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const parts = { POLICY: policy, SOURCES: digest.digest("hex"), STYLE: style, SCRIPT: script };
const page = read("src", "page.html").replace(/@@(POLICY|SOURCES|STYLE|SCRIPT)@@/g, (_, name) => parts[name]);
writeFileSync(out, page);
console.log(`${out}: ${(page.length / 1024).toFixed(0)} KB`);
