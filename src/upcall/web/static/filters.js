// Filters stand in the address: choosing one asks the server, which knows all there is.
const form = document.querySelector("[data-filters]");

form?.addEventListener("change", ({ target }) => target.matches("[data-filter]") && form.requestSubmit());
form?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});
