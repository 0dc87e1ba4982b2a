import { solidStart } from "@solidjs/start/config";

export default { plugins: [solidStart()] };
