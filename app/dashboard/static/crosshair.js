// Crosshair of charts: says what the row of the chart's own table says that the pointer is over.

function follow(chart) {
  const figure = chart.closest("figure");
  const heads = [...figure.querySelectorAll("thead th")].slice(1);
  const rows = [...figure.querySelectorAll("tbody tr")];
  const reading = figure.querySelector(".reading");
  const line = document.createElementNS(chart.namespaceURI, "path");
  const [left, right] = chart.dataset.plot.split(" ").map(Number);
  line.setAttribute("class", "rule");
  chart.append(line);
  chart.addEventListener("pointermove", event => {
    const x = new DOMPoint(event.clientX, 0).matrixTransform(chart.getScreenCTM().inverse()).x;
    const step = (right - left) / rows.length;
    const at = Math.floor((x - left) / step);
    const [name, ...cells] = rows[at]?.cells ?? [];
    reading.textContent = name
      ? `${name.textContent}: ` + cells.map((cell, index) => `${heads[index].textContent} ${cell.textContent}`).join(", ")
      : "";
    line.setAttribute("d", name ? `M${left + (at + 0.5) * step} 0V${chart.viewBox.baseVal.height}` : "");
  });
  chart.addEventListener("pointerleave", () => {
    reading.textContent = "";
    line.setAttribute("d", "");
  });
}

document.querySelectorAll("[data-plot]").forEach(follow);
