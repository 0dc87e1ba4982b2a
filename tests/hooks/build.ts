/** Builds an app by Vite, for the browser and for the server, with the compilers of Vue and Svelte. */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { compile } from "svelte/compiler";
import { build, type InlineConfig, type Plugin, type Rolldown } from "vite";
import { compileScript, parse } from "vue/compiler-sfc";
import { exampleWith, writeExample } from "../docs/examples.js";
import type { Initial } from "./apps/shared.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = fileURLToPath(new URL("../../target/adapters/", import.meta.url));

export type Framework = "react" | "vue" | "svelte";
/** The frameworks with the common app. */
export const frameworks: readonly Framework[] = ["react", "vue", "svelte"];

/** The arguments of a framework's compilers, and its examples in the documentation. */
const endings = { react: "", vue: ".vue", svelte: ".svelte" } as const;
export const exampleKinds = { react: "tsx adapter", vue: "vue adapter", svelte: "svelte adapter" } as const;

/** An app's pages for the browser, by the names of their scripts: the example that each imports, and a part of it. */
const sides: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  client: {},
  pages: {},
  example: { "documented-example": "fetchPage, { want: 8 }" },
};
/** The pages of one framework. */
const ownSides: Readonly<Record<Framework, typeof sides>> = {
  react: {
    query: { "documented-query": "useInfiniteQuery" },
    parts: { "documented-timeline": "arrived" },
    voyager: {},
  },
  vue: { pager: { "documented-pager": "useSeenFeed" } },
  svelte: { pager: { "documented-pager": "seenFeed" } },
};

/** Pages that are one component, by the module that has it: their scripts mount it. */
const components: Readonly<Record<Framework, Readonly<Record<string, string>>>> = {
  react: { example: "documented-example" },
  vue: { pages: `${here}apps/vue/Pages.vue`, example: "documented-example.vue" },
  svelte: {
    pages: `${here}apps/svelte/Pages.svelte`,
    pager: `${here}apps/svelte/Pager.svelte`,
    example: "documented-example.svelte",
  },
};
const MOUNTING = {
  react: `import { createElement, StrictMode } from "react"; import { createRoot } from "react-dom/client";
    createRoot(document.querySelector("#app")).render(createElement(StrictMode, null, createElement(Component, props)));`,
  vue: 'import { createApp } from "vue"; createApp(Component, props).mount("#app");',
  svelte: 'import { mount } from "svelte"; mount(Component, { target: document.querySelector("#app"), props });',
};

/** The scripts of such pages. */
const mounts = (framework: Framework): Plugin => ({
  name: "mounts",
  resolveId: (id) => (id.startsWith("mount:") ? id : undefined),
  load(id) {
    const component = components[framework][id.replace("mount:", "")];
    if (!id.startsWith("mount:") || component === undefined) return undefined;
    const props = component.startsWith("documented") ? '{ userId: "ada" }' : "{}";
    const exported = framework === "react" ? "{ Feed as Component }" : "Component";
    return `import ${exported} from ${JSON.stringify(component)}; const props = ${props}; ${MOUNTING[framework]}`;
  },
});

export interface BuiltApp {
  /** For the browser, by path: the app's, and those of the documented example. */
  readonly scripts: ReadonlyMap<string, string>;
  /** Renders on the server. */
  readonly render: (initial: Initial) => string | Promise<string>;
}

export const compilers = ({ isServer, isDev }: { isServer: boolean; isDev: boolean }): Plugin => ({
  name: "compilers",
  transform(code, file) {
    if (file.endsWith(".vue")) {
      const { descriptor } = parse(code, { filename: file });
      const { content } = compileScript(descriptor, {
        id: basename(file),
        inlineTemplate: true,
        templateOptions: { ssr: isServer, ssrCssVars: [] },
      });
      return { code: content, map: null };
    }
    if (file.endsWith(".svelte")) {
      const { js } = compile(code, { filename: file, generate: isServer ? "server" : "client", dev: isDev });
      return { code: js.code, map: null };
    }
    return null;
  },
});

export async function buildApp(framework: Framework): Promise<BuiltApp> {
  const scripts: [string, string][] = [];
  for (const [side, documented] of Object.entries({ ...sides, ...ownSides[framework] }))
    scripts.push(...(await clientScripts(framework, side, documented)));
  return {
    scripts: new Map(scripts),
    render: (await serverModule(framework)).render,
  };
}

/** The scripts for the browser by their paths, `side`.js among them. */
async function clientScripts(
  framework: Framework,
  side: string,
  documented: Readonly<Record<string, string>>,
): Promise<Map<string, string>> {
  const alias = Object.entries(documented).map(([name, part]) => ({
    find: name + endings[framework],
    replacement: writeExample(exampleWith(exampleKinds[framework], part)),
  }));
  const chunks = await chunksOf({
    resolve: {
      conditions: ["browser", "development", "module"],
      alias,
    },
    // The builds for development.
    define: {
      "process.env.NODE_ENV": '"development"',
      __VUE_OPTIONS_API__: "false",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "true",
    },
    plugins: [mounts(framework), compilers({ isServer: false, isDev: true })],
    build: {
      rolldownOptions: {
        input: inputOf(framework, side),
        output: { entryFileNames: `${side}.js`, chunkFileNames: `${side}-[name].js` },
      },
    },
  });
  return new Map(chunks.map(({ fileName, code }) => [`/${fileName}`, code]));
}

/** Written to a file of this process: it imports packages by their names. */
async function serverModule(framework: Framework): Promise<Pick<BuiltApp, "render">> {
  const chunks = await chunksOf({
    plugins: [compilers({ isServer: true, isDev: false })],
    build: { ssr: true, rolldownOptions: { input: inputOf(framework, "server") } },
  });
  const directory = `${target}${framework}-${String(process.pid)}/`;
  mkdirSync(`${directory}assets`, { recursive: true });
  for (const { fileName, code } of chunks) writeFileSync(directory + fileName, code);
  const entry = chunks.find(({ isEntry }) => isEntry)?.fileName ?? "";
  return (await import(pathToFileURL(directory + entry).href)) as Pick<BuiltApp, "render">;
}

async function chunksOf(config: InlineConfig): Promise<Rolldown.OutputChunk[]> {
  const built = (await build({
    ...config,
    configFile: false,
    root: here,
    logLevel: "error",
    build: { ...config.build, write: false, minify: false },
  })) as Rolldown.RolldownOutput;
  return built.output.filter((output) => output.type === "chunk");
}

const inputOf = (framework: Framework, side: string) =>
  components[framework][side] === undefined
    ? `${here}apps/${framework}/${side}.ts${framework === "react" ? "x" : ""}`
    : `mount:${side}`;
