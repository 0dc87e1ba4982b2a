/** How JavaScript, TypeScript, HTML, CSS, JSON, YAML and Markdown are laid out. @type {import("prettier").Config} */
export default { printWidth: 120 };
