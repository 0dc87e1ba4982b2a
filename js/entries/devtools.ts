/** The entry `seenguard/devtools`: defines `<seenguard-panel>`, where there are custom elements. */
import { SeenGuardPanel } from "../devtools/panel.js";

const NAME = "seenguard-panel";

// Another copy of the package may have defined it; on a server there is nothing to define.
if (typeof customElements !== "undefined" && !customElements.get(NAME)) customElements.define(NAME, SeenGuardPanel);

export { SeenGuardPanel };
