// Filters stand in the address: choosing one asks the server, which knows all there is.
import { one } from "./dom.js";

const form = one("[data-filters]");

form?.addEventListener("change", ({ target }) => target.matches("[data-filter]") && form.requestSubmit());
form?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});
