// Draws a dashboard with the components that Grafana's panels are made of, from what Prometheus answers to their queries.

import { createTheme, dateTime, FieldType, getDisplayProcessor, getFieldDisplayValues, toDataFrame } from "@grafana/data";
import { BigValue, PanelChrome, ThemeContext, TimeSeries, VizRepeater } from "@grafana/ui";
import { createRoot } from "react-dom/client";

const WIDTH = 1600, CELL = 30, GAP = 8; // pixels; a grid of Grafana has cells of 30 pixels with gaps of 8
const SCRAPED = 1; // seconds between two scrapes
const theme = createTheme({ colors: { mode: "light" } });

// What Grafana's plugin for time series assumes of a field that says nothing else.
const LINES = {
  drawStyle: "line", lineInterpolation: "linear", lineWidth: 1, fillOpacity: 0, gradientMode: "none", pointSize: 5,
  showPoints: "auto", spanNulls: false, stacking: { mode: "none", group: "A" }, axisPlacement: "auto",
  axisColorMode: "text", axisGridShow: true, axisBorderShow: false, scaleDistribution: { type: "linear" },
  hideFrom: { legend: false, tooltip: false, viz: false }, thresholdsStyle: { mode: "off" },
};

/** Return the text of a query or a legend, in which all runs and kinds are chosen. */
function chosen(text, variables, step) {
  const interval = Math.max(step + SCRAPED, 4 * SCRAPED);
  const filled = text.replaceAll("$__rate_interval", `${interval}s`);
  return variables.reduce((before, { name, allValue }) => before.replaceAll(`$${name}`, allValue), filled);
}

/** Return what Prometheus answers to a panel's queries, as a frame for each series. */
async function ask(panel, { prometheus, from, to, step, variables }) {
  const frames = [];
  for (const { expr, legendFormat } of panel.targets) {
    const query = new URLSearchParams({ query: chosen(expr, variables, step), start: from, end: to, step });
    const answer = await (await fetch(`${prometheus}/api/v1/query_range?${query}`)).json();
    if (answer.status !== "success") throw new Error(`${panel.title}: ${answer.error}`);
    for (const { metric, values } of answer.data.result) {
      const at = new Map(values.map(([time, value]) => [Math.round(time * 1000), Number(value)]));
      const times = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => (from + i * step) * 1000);
      const name = legendFormat.replace(/{{(\w+)}}/g, (_, label) => metric[label] ?? "");
      const { custom, ...defaults } = panel.fieldConfig.defaults;
      const config = { ...defaults, displayNameFromDS: name, custom: { ...LINES, ...custom } };
      const numbers = times.map((time) => (Number.isFinite(at.get(time)) ? at.get(time) : null));
      const frame = toDataFrame({ fields: [
        { name: "Time", type: FieldType.time, values: times, config: {} },
        { name: "Value", type: FieldType.number, values: numbers, config, labels: metric },
      ] });
      const known = numbers.filter((number) => number !== null);
      const [min, max] = [Math.min(...known), Math.max(...known)];
      frame.fields[1].state = { seriesIndex: frames.length, range: { min, max, delta: max - min } };
      for (const field of frame.fields) field.display = getDisplayProcessor({ field, theme, timeZone: "utc" });
      frames.push(frame);
    }
  }
  return frames;
}

function Stat({ panel, frames, width, height }) {
  const { reduceOptions, ...options } = panel.options;
  const getValues = () => getFieldDisplayValues({
    fieldConfig: panel.fieldConfig, reduceOptions, replaceVariables: (text) => text, theme, data: frames, sparkline: true,
  });
  const renderValue = ({ value, width, height, count }) => (
    <BigValue value={value.display} sparkline={value.sparkline} count={count} theme={theme} width={width} height={height}
      colorMode={options.colorMode} graphMode={options.graphMode} textMode={options.textMode} wideLayout={options.wideLayout} />
  );
  return <VizRepeater source={frames} getValues={getValues} renderValue={renderValue} renderCounter={0} autoGrid
    orientation="auto" width={width} height={height} />;
}

function Lines({ panel, frames, width, height, range }) {
  return <TimeSeries frames={frames} width={width} height={height} timeRange={range} timeZone="utc" legend={panel.options.legend}
    options={panel.options} structureRev={1} />;
}

function Panel({ panel, frames, range }) {
  const { x, y, w, h } = panel.gridPos;
  const cell = (WIDTH - GAP) / 24, row = CELL + GAP;
  const place = { position: "absolute", left: x * cell + GAP, top: y * row + GAP, width: w * cell - GAP, height: h * row - GAP };
  if (panel.type === "row") return <h2 style={{ ...place, font: `500 16px ${theme.typography.fontFamily}` }}>{panel.title}</h2>;
  const Drawn = { stat: Stat, timeseries: Lines }[panel.type];
  return (
    <div style={place} data-panel={panel.title} data-series={frames.length}>
      <PanelChrome title={panel.title} width={place.width} height={place.height}>
        {(width, height) => frames.length ? <Drawn {...{ panel, frames, width, height, range }} /> : <p>No data</p>}
      </PanelChrome>
    </div>
  );
}

/** Draw a dashboard for a time, given in seconds since 1970; return the titles of panels without data. */
window.draw = async (dashboard, { prometheus, from, to, step }) => {
  const variables = dashboard.templating.list.filter(({ type }) => type === "query");
  const range = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: "", to: "" } };
  const panels = [];
  for (const panel of dashboard.panels) {
    const frames = panel.targets ? await ask(panel, { prometheus, from, to, step, variables }) : [];
    panels.push({ panel, frames, range });
  }
  const height = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h)) * (CELL + GAP) + GAP;
  document.body.replaceChildren();
  document.body.style = `margin: 0; position: relative; width: ${WIDTH}px; height: ${height}px; color: ${theme.colors.text.primary}; `
    + `background: ${theme.colors.background.canvas}`;
  createRoot(document.body.appendChild(document.createElement("main"))).render(
    <ThemeContext.Provider value={theme}>
      {panels.map((one) => <Panel key={one.panel.id} {...one} />)}
    </ThemeContext.Provider>,
  );
  return panels.filter(({ panel, frames }) => panel.targets && !frames.length).map(({ panel }) => panel.title);
};
