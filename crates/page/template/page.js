// Pictures and sorting. All texts come as data and are set as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 640px)");
  const state = { hidden: new Set(), scale: data.latency ? data.latency.first : "log", printing: false };

  // Colours that differ in lightness too (Okabe and Ito, with two more); dashes tell runs and later rounds apart.
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#a3447c", "#b8860b", "#3a96c9", "#5b4b9a", "#7a5230", "#4d6a00", "#c2185b"];
  const DARK = ["#5cb3ee", "#ff9a4d", "#3ad1a3", "#e58fc1", "#e6c04a", "#9adcf7", "#b3a4f0", "#d3a67e", "#b2d054", "#ff85ad"];
  const DASHES = ["solid", [6, 4], [2, 3], [14, 4], [4, 8], [10, 2]];

  const isDark = () => !state.printing && (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const ink = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const palette = () => (isDark() ? DARK : LIGHT);
  const colourOf = (number) => palette()[number % LIGHT.length];
  const caseColour = (number) => colourOf(data.cases[number].colour);
  const caseDash = (number) => DASHES[data.cases[number].dash % DASHES.length];

  // ---- figures as people write them -------------------------------------------------------------------------------
  const digits = (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
    return String(Number(value.toPrecision(size >= 100 ? Math.max(3, Math.ceil(Math.log10(size + 1))) : 3)));
  };
  const time = (ns) => {
    if (ns === undefined || ns === null) return "";
    for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) if (Math.abs(ns) >= scale) return `${digits(ns / scale)} ${unit}`;
    return `${digits(ns)} ns`;
  };
  const seconds = (s) => time(s * 1e9);
  const count = (n) => n.toLocaleString("en-US").replace(/,/g, "\u202f");
  const share = (p) => (p >= 0.001 ? `${digits(p * 100)} %` : p.toExponential(1));
  const METRIC = {
    slowdown: ["slowdown", (v) => `x${digits(v)}`], cost: ["cost", (v) => `x${digits(v)}`],
    bandwidth: ["bandwidth", (v) => `${digits(v / 1e6)} MB/s`], total_bandwidth: ["bandwidth of all cores", (v) => `${digits(v / 1e6)} MB/s`],
    misses: ["misses in a sample", digits],
  };
  const metricOf = (name) => METRIC[name] || [name === "latency" ? "mean" : name, time];
  // Powers of ten alone.
  const power = (value, shown) => (Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6 ? shown(value) : "");
  const exponent = (value) => {
    const up = { "-": "\u207b", 0: "\u2070", 1: "\u00b9", 2: "\u00b2", 3: "\u00b3", 4: "\u2074", 5: "\u2075", 6: "\u2076", 7: "\u2077", 8: "\u2078", 9: "\u2079" };
    const e = Math.round(Math.log10(value));
    return e >= 0 && e < 3 ? String(10 ** e) : `10${[...String(e)].map((c) => up[c]).join("")}`;
  };

  // ---- hovering ---------------------------------------------------------------------------------------------------
  const element = (tag, text, ...children) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    made.append(...children);
    return made;
  };
  const tip = (heading, pairs, note) => {
    const list = element("dl");
    for (const [what, value] of pairs) if (value !== "" && value !== undefined && value !== null) list.append(element("dt", what), element("dd", value));
    const box = element("div", null, element("b", heading), list);
    box.className = "tip";
    if (note) box.append(element("p", note));
    return box;
  };
  const seen = (number) => {
    const of = data.cases[number];
    return [["max", time(of.max_ns)], ["seen in", seconds(of.run_length_s)], ["samples", count(of.samples)]];
  };

  // ---- what all pictures share ------------------------------------------------------------------------------------
  const font = () => getComputedStyle(document.body).fontFamily;
  const base = () => ({
    animation: false,
    textStyle: { fontFamily: font(), color: ink("ink") },
    grid: { left: 8, right: narrow.matches ? 14 : 24, top: 30, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
    aria: { enabled: true },
    tooltip: {
      trigger: "item", confine: true, backgroundColor: ink("card"), borderColor: ink("line"), textStyle: { color: ink("ink") },
      extraCssText: "box-shadow: 0 2px 10px rgba(0,0,0,.18);",
    },
  });
  const axis = (type, name, shown, more) => ({
    type, name, nameLocation: "middle", nameGap: 28,
    nameTextStyle: { color: ink("soft"), fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: ink("soft") } }, axisTick: { lineStyle: { color: ink("soft") } },
    axisLabel: { color: ink("soft"), fontSize: 12, hideOverlap: true, formatter: shown },
    splitLine: { show: true, lineStyle: { color: ink("grid") } },
    minorSplitLine: { show: false },
    ...more,
  });
  // The name of an upright axis stands above it: beside it, it takes room from the picture.
  const upright = (type, name, shown, more) => axis(type, name, shown, { nameLocation: "end", nameGap: 12, nameTextStyle: { color: ink("soft"), fontSize: 12, align: "left" }, ...more });
  // A logarithmic axis with ticks at 1, 2 and 5 where it has few decades, at powers of ten where it has many.
  const logTicks = (min, max) => {
    const decades = Math.log10(max / min);
    const steps = decades > 5 ? [1] : decades > 2.2 ? [1, 3] : [1, 2, 5];
    const all = [];
    for (let e = Math.floor(Math.log10(min)) - 1; e <= Math.ceil(Math.log10(max)); e += 1) for (const step of steps) all.push(step * 10 ** e);
    const inside = all.filter((tick) => tick >= min * 0.9999 && tick <= max * 1.0001);
    const every = decades > 12 ? 3 : 1;
    return inside.filter((_, at) => at % every === 0);
  };
  const below = (min) => { const e = 10 ** Math.floor(Math.log10(min)); return Math.max(...[1, 2, 3, 5].map((step) => step * e).filter((tick) => tick <= min * 1.0001)); };
  const above = (max) => { const e = 10 ** Math.floor(Math.log10(max)); return Math.min(...[1, 2, 3, 5, 10].map((step) => step * e).filter((tick) => tick >= max * 0.9999)); };
  const logAxis = (make, name, show, min, max, more) => {
    const customValues = logTicks(min, max);
    return make("log", name, show, {
      min, max, ...more,
      axisLabel: { color: ink("soft"), fontSize: 12, hideOverlap: true, formatter: show, customValues },
      axisTick: { lineStyle: { color: ink("soft") }, customValues }, splitLine: { show: true, lineStyle: { color: ink("grid") }, customValues },
    });
  };
  const lengths = (log, min, max) => log
    ? logAxis(axis, "length of a sample", time, below(min), above(max))
    : axis("value", "length of a sample", time, { min: 0, max: max * 1.03, axisLabel: { color: ink("soft"), fontSize: 12, hideOverlap: true, formatter: time, showMaxLabel: false } });
  const shown = (number) => !state.hidden.has(number);

  const charts = [];
  const add = (id, legend, option) => {
    const figure = document.getElementById(id);
    if (!figure) return;
    const chart = echarts.init(figure.querySelector(".chart"), null, { renderer: "svg" });
    charts.push({ id, figure, chart, legend, option });
  };
  const draw = () => {
    for (const { figure, chart, legend, option } of charts) {
      if (legend) legendOf(figure.querySelector(".legend"), legend());
      chart.setOption({ ...base(), ...option(figure) }, { notMerge: true });
      chart.resize();
    }
  };

  // ---- legends: cases are shown or hidden in all pictures at once -------------------------------------------------
  const mark = (colour, dash) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("width", "22"); svg.setAttribute("height", "10"); svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(space, "line");
    for (const [key, value] of Object.entries({ x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour, "stroke-width": 3 })) line.setAttribute(key, value);
    if (dash !== "solid") line.setAttribute("stroke-dasharray", dash.join(" "));
    svg.append(line);
    return svg;
  };
  // No picture shows a maximum without the time in which it was seen, on paper neither.
  const withLength = (number, between = ", ") => `${data.cases[number].label}${between}in ${seconds(data.cases[number].run_length_s)}`;
  const legendOf = (place, numbers) => {
    if (numbers.length < 2) { place.replaceChildren(...numbers.map((number) => element("span", withLength(number)))); return; }
    const buttons = numbers.map((number) => {
      const button = element("button", null, mark(caseColour(number), caseDash(number)), element("span", withLength(number)));
      button.type = "button";
      button.setAttribute("aria-pressed", shown(number));
      button.addEventListener("click", () => {
        if (shown(number)) state.hidden.add(number); else state.hidden.delete(number);
        draw();
      });
      return button;
    });
    if (numbers.length > 6) {
      const all = element("button", numbers.some((number) => !shown(number)) ? "show all" : "hide all");
      all.type = "button"; all.className = "all";
      all.addEventListener("click", () => {
        if (numbers.some((number) => !shown(number))) numbers.forEach((number) => state.hidden.delete(number)); else numbers.forEach((number) => state.hidden.add(number));
        draw();
      });
      buttons.push(all);
    }
    place.replaceChildren(...buttons);
  };
  // More lines than this are a thicket: the rest waits for a click.
  const AT_ONCE = 10;
  data.cases.forEach((_, number) => { if (number >= AT_ONCE) state.hidden.add(number); });

  // ---- the pictures -----------------------------------------------------------------------------------------------
  const extremes = () => {
    const lines = data.exceedance ? data.exceedance.lines : [];
    const all = lines.filter((line) => shown(line.case));
    const xs = all.flatMap((line) => [line.points[0][0], line.points[line.points.length - 1][0]]);
    return xs.length ? [Math.max(Math.min(...xs), leastLength()), Math.max(...xs)] : [1, 1000];
  };
  // 0 has no place on a logarithmic axis: a first step that begins at 0 is shown from half of its end.
  const leastLength = () => {
    const log = data.latency && data.latency.scales.find((of) => of.kind === "log");
    return log ? (log.edges_ns[0] > 0 ? Math.min(log.edges_ns[0], 0.1) : log.edges_ns[1] / 2) : 0.1;
  };

  const latencyLine = (scale, line) => {
    const edges = scale.kind === "log" ? scale.edges_ns.map((edge) => Math.max(edge, leastLength())) : scale.edges_ns;
    const points = [];
    let before = -2;
    for (const [step, n] of line.counts) {
      // An empty step is a gap: 0 has no place on a logarithmic axis, so the line goes down to below 1.
      if (step !== before + 1) {
        if (before >= 0) points.push([edges[before + 1], 0.5]);
        points.push([edges[step], 0.5]);
      }
      points.push([edges[step], n], [edges[step + 1], n]);
      before = step;
    }
    points.push([edges[before + 1], 0.5]);
    return points;
  };
  const stepAt = (edges, ns) => { let at = edges.findIndex((edge) => edge > ns); return (at < 0 ? edges.length - 1 : at) - 1; };

  if (data.latency) add("latency", () => data.latency.scales[0].lines.map((line) => line.case), () => {
    const scale = data.latency.scales.find((of) => of.kind === state.scale) || data.latency.scales[0];
    const log = scale.kind === "log";
    const [min, max] = extremes();
    const lines = scale.lines.filter((line) => shown(line.case));
    return {
      xAxis: lengths(log, min, max),
      yAxis: logAxis(upright, "samples", (v) => power(v, exponent), 0.5, 10 ** Math.ceil(Math.log10(Math.max(10, ...lines.flatMap((line) => line.counts.map(([, n]) => n)))))),
      tooltip: {
        ...base().tooltip, trigger: "axis", axisPointer: { type: "line", lineStyle: { color: ink("soft") } },
        formatter: (items) => {
          const ns = (Array.isArray(items) ? items[0] : items).axisValue;
          const step = stepAt(scale.edges_ns, ns);
          const pairs = lines.slice(0, 12).map((line) => {
            const found = line.counts.find(([at]) => at === step);
            return [`${data.cases[line.case].label} in ${seconds(data.cases[line.case].run_length_s)}`, found ? count(found[1]) : "0"];
          });
          const beyond = lines.filter((line) => line.beyond > 0).map((line) => `${data.cases[line.case].label}: ${count(line.beyond)} samples beyond the histogram`);
          return tip(`${time(scale.edges_ns[step])} to ${time(scale.edges_ns[step + 1])}: samples`, pairs, beyond.join("; "));
        },
      },
      series: lines.map((line) => ({
        type: "line", name: data.cases[line.case].label, data: latencyLine(scale, line), showSymbol: false,
        lineStyle: { width: 1.6, type: caseDash(line.case) }, color: caseColour(line.case), emphasis: { disabled: true },
      })),
    };
  });

  if (data.exceedance) add("exceedance", () => data.exceedance.lines.map((line) => line.case), () => {
    const log = state.scale === "log";
    let [min, max] = extremes();
    const lines = data.exceedance.lines.filter((line) => shown(line.case));
    const limits = [];
    for (const limit of data.exceedance.limits) {
      if (!shown(limit.case)) continue;
      const same = limits.find((other) => other.limit_ns === limit.limit_ns && other.budget === limit.budget);
      if (same) same.of.push(limit); else limits.push({ ...limit, of: [limit] });
    }
    max = Math.max(max, ...limits.map((limit) => limit.limit_ns), ...lines.filter((line) => line.tail).map((line) => line.tail.points[line.tail.points.length - 1][0]).filter((ns) => ns < 20 * max));
    min = Math.min(min, ...limits.map((limit) => limit.limit_ns));
    const least = Math.min(...lines.flatMap((line) => [line.points[line.points.length - 1][1], ...(line.tail ? [line.tail.points[line.tail.points.length - 1][1]] : [])]), 0.1);
    const series = lines.flatMap((line) => {
      const of = data.cases[line.case];
      // Between two lengths no sample lies: the share there is that of the longer one.
      const own = {
        type: "line", name: of.label, step: "start", data: log ? line.points.map(([ns, part]) => [Math.max(ns, leastLength()), part]) : line.points, showSymbol: false, symbolSize: 6, color: caseColour(line.case),
        lineStyle: { width: 1.8, type: caseDash(line.case) }, triggerLineEvent: true, emphasis: { disabled: true },
        tooltip: { formatter: (item) => item.value ? tip(of.label, [["at least", time((line.points[item.dataIndex] || item.value)[0])], ["share of samples", share(item.value[1])], ...seen(line.case)], line.no_tail ? `No tail is drawn: ${line.no_tail}` : "") : "" },
        markPoint: { symbol: "circle", symbolSize: 7, itemStyle: { color: caseColour(line.case) }, label: { show: false },
          data: [{ coord: line.points[line.points.length - 1] }],
          tooltip: { formatter: () => tip(of.label, seen(line.case), "The largest sample. It belongs to this run length and bounds nothing.") } },
      };
      if (!line.tail) return [own];
      const tail = {
        type: "line", name: `${of.label}, tail`, data: line.tail.points, showSymbol: false, symbolSize: 5, color: caseColour(line.case),
        lineStyle: { width: 0.9, type: caseDash(line.case) }, emphasis: { disabled: true }, clip: true,
        tooltip: { formatter: (item) => item.value ? tip(`${of.label}: tail`, [["above", time(item.value[0])], ["events a sample", item.value[1].toExponential(1)], ["rests on", `${line.tail.peaks} events above ${time(line.tail.threshold_ns)}`], [`median maximum of ${seconds(line.tail.over_s)}`, time(line.tail.median_ns)], ...seen(line.case)], "What a longer run would show if what made the highest events goes on as it did. It bounds nothing.") : "" },
      };
      return [own, tail];
    });
    limits.forEach((limit, at) => series.push({
      type: "line", data: [], markLine: {
        symbol: "none", silent: false, lineStyle: { color: ink("bad"), width: 1.5, type: "solid" },
        label: { formatter: () => limit.budget, color: ink("bad"), fontSize: 12, position: at % 2 ? "insideEndBottom" : "insideEndTop" },
        data: [{ xAxis: limit.limit_ns }],
        tooltip: { formatter: () => tip(`budget ${limit.budget}`, [], limit.of.map((of) => `${data.cases[of.case].label}: ${of.text}`).join("; ")) },
      },
    }));
    return {
      xAxis: lengths(log, min, max),
      yAxis: logAxis(upright, "share of samples at least so long", (v) => power(v, exponent), 10 ** Math.floor(Math.log10(least)), 1),
      tooltip: { ...base().tooltip, trigger: "item" },
      series,
    };
  });

  if (data.peaks) add("peaks", () => data.peaks.lines.map((line) => line.case), () => {
    const lines = data.peaks.lines.filter((line) => shown(line.case));
    const all = lines.flatMap((line) => line.points.map((point) => point.max_ns));
    const log = all.length && Math.max(...all) > 20 * Math.min(...all);
    return {
      xAxis: axis("value", "time measured", seconds),
      yAxis: log
        ? logAxis(upright, "largest sample", time, below(Math.max(Math.min(...all), 0.1)), above(Math.max(...all)))
        : upright("value", "largest sample", time),
      series: lines.map((line) => {
        const of = data.cases[line.case];
        return {
          type: "line", name: of.label, color: caseColour(line.case), symbol: "circle", symbolSize: line.points.length > 200 ? 4 : 7, showSymbol: true, showAllSymbol: true,
          lineStyle: { width: 1, type: caseDash(line.case), opacity: 0.55 }, emphasis: { disabled: true },
          data: line.points.map((point) => ({ value: [point.at_s, point.max_ns], point, symbol: point.not_counted ? "emptyCircle" : "circle" })),
          tooltip: { formatter: (item) => {
            const point = item.data.point;
            const interval = line.interval_s ? seconds(line.interval_s) : seconds(point.run_length_s);
            return tip(of.label, [["largest sample", time(point.max_ns)], [line.per === "interval" ? "of an interval of" : "of a repeat of", interval], ["repeat", String(point.repeat)], ["ended at", seconds(point.in_repeat_s)], ["all repeats", seconds(of.run_length_s)]], point.not_counted ? `This repeat does not count: ${point.not_counted}` : "");
          } },
        };
      }),
    };
  });

  data.sweeps.forEach((sweep, at) => add(`sweep-${at}`, null, (figure) => {
    const [name, show] = metricOf(sweep.metric);
    const values = sweep.lines.flatMap((line) => line.points.filter(Boolean).flatMap((point) => [point.value, point.published, point.spread?.low, point.spread?.high].filter((v) => v > 0)));
    const log = values.length && Math.max(...values) > 30 * Math.min(...values);
    ownLegend(figure, sweep.lines.map((line, number) => [line.name, number]));
    const hidden = figure.hiddenLines || new Set();
    return {
      xAxis: axis("category", sweep.sweep, undefined, { data: sweep.points, boundaryGap: true, splitLine: { show: false }, axisLabel: { color: ink("soft"), fontSize: 12, hideOverlap: true, interval: 0, rotate: narrow.matches && sweep.points.length > 4 ? 40 : 0 } }),
      yAxis: log ? logAxis(upright, name, show, below(Math.min(...values)), above(Math.max(...values))) : upright("value", name, show),
      series: sweep.lines.flatMap((line, number) => {
        if (hidden.has(number)) return [];
        const colour = colourOf(number);
        const detail = (point) => tip(data.cases[point.case].label, [[name, show(point.value)], ["95 % of the mean", point.spread ? `${show(point.spread.low)} to ${show(point.spread.high)}` : ""], ["from", point.spread ? `${count(point.spread.n)} ${point.spread.of}` : ""], ["published", point.published === undefined ? "" : show(point.published)], ["agreement", point.how || ""], ...seen(point.case)]);
        const own = {
          type: "line", name: line.name, color: colour, symbol: "circle", symbolSize: 7, showAllSymbol: true, connectNulls: false, emphasis: { disabled: true },
          lineStyle: { width: sweep.is_ordered ? 1.8 : 0, type: DASHES[Math.floor(number / LIGHT.length) % DASHES.length] },
          data: line.points.map((point) => (point ? { value: point.value, point } : null)), tooltip: { formatter: (item) => detail(item.data.point) },
        };
        const spreads = line.points.map((point, x) => [x, point]).filter(([, point]) => point && point.spread);
        const bars = spreads.length ? [{
          type: "custom", name: `${line.name}, 95 %`, color: colour, silent: true, z: 1, encode: { x: 0, y: [1, 2] },
          data: spreads.map(([x, point]) => [x, log ? Math.max(point.spread.low, below(Math.min(...values))) : point.spread.low, point.spread.high]),
          renderItem: (_, api) => {
            const [x, low] = api.coord([api.value(0), api.value(1)]);
            const high = api.coord([api.value(0), api.value(2)])[1];
            const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1.2 } });
            return { type: "group", children: [line(x, low, x, high), line(x - 5, low, x + 5, low), line(x - 5, high, x + 5, high)] };
          },
        }] : [];
        const theirs = line.points.map((point, x) => [x, point]).filter(([, point]) => point && point.published !== undefined);
        if (!theirs.length) return [own, ...bars];
        return [own, ...bars, {
          type: "scatter", name: `${line.name}, published`, symbol: "diamond", symbolSize: 12, color: colour,
          data: theirs.map(([x, point]) => ({ value: [x, point.published], point, itemStyle: hollow(colour, point.how) })), tooltip: { formatter: (item) => detail(item.data.point) },
        }];
      }),
    };
  }));
  const hollow = (colour, how) => (how === "predicted" ? { color: colour, borderColor: ink("card"), borderWidth: 1 }
    : { color: "transparent", borderColor: colour, borderWidth: 2, borderType: how === "fitted" ? [2, 2] : "solid" });
  const ownLegend = (figure, lines) => {
    figure.hiddenLines = figure.hiddenLines || new Set();
    if (lines.length < 2) return;
    figure.querySelector(".legend").replaceChildren(...lines.map(([name, number]) => {
      const button = element("button", null, mark(colourOf(number), DASHES[Math.floor(number / LIGHT.length) % DASHES.length]), element("span", name));
      button.type = "button";
      button.setAttribute("aria-pressed", !figure.hiddenLines.has(number));
      button.addEventListener("click", () => { if (!figure.hiddenLines.delete(number)) figure.hiddenLines.add(number); draw(); });
      return button;
    }));
  };

  const choices = (id, names) => {
    const select = document.querySelector(`#${id} select.choice`);
    if (!select) return;
    select.append(...names.map((name, at) => { const option = element("option", name); option.value = at; return option; }));
    select.addEventListener("change", draw);
    if (names.length < 2) select.hidden = true;
  };
  const chosen = (id) => Number(document.querySelector(`#${id} select.choice`).value || 0);

  if (data.occupancy.length) {
    choices("occupancy", data.occupancy.map((of) => data.cases[of.case].label));
    const loaded = data.occupancy.findIndex((of) => of.others_lines.some((n) => n > 0));
    if (loaded > 0) document.querySelector("#occupancy select.choice").value = loaded;
    add("occupancy", null, (figure) => {
      const of = data.occupancy[chosen("occupancy")];
      // A single look shows no course: the shares beside the ways say it.
      figure.querySelector(".chart").style.display = of.at_s.length > 1 ? "" : "none";
      ways(figure.querySelector(".legend"), of);
      const line = (name, number, lines) => ({
        type: "line", name, stack: "lines", color: colourOf(number), areaStyle: { opacity: 0.55 }, lineStyle: { width: 1 }, showSymbol: false, emphasis: { disabled: true },
        data: lines.map((n, at) => [of.at_s[at], (100 * n) / of.lines]),
      });
      return {
        xAxis: axis("value", "time of the first repeat", seconds, { min: 0, max: of.at_s[of.at_s.length - 1] }),
        yAxis: upright("value", `share of the L${of.level}'s lines`, (v) => `${v} %`, { min: 0, max: 100 }),
        tooltip: { ...base().tooltip, trigger: "axis", formatter: (items) => {
          const at = items[0].dataIndex;
          return tip(`${data.cases[of.case].label}, ${seconds(of.at_s[at])}`, [["target", `${count(of.target_lines[at])} lines, ${digits((100 * of.target_lines[at]) / of.lines)} %`], ["others", `${count(of.others_lines[at])} lines, ${digits((100 * of.others_lines[at]) / of.lines)} %`], ["of", `${count(of.lines)} lines`]]);
        } },
        series: [line("target", 0, of.target_lines), line("others", 1, of.others_lines)],
      };
    });
  }
  // How many ways each may fill. Which ones is not in the run: the cells are a count, not a place.
  const ways = (place, of) => {
    const mean = (lines) => `${digits((100 * lines.reduce((a, b) => a + b, 0)) / lines.length / of.lines)} %`;
    const looks = of.at_s.length === 1 ? `at ${seconds(of.at_s[0])}` : `on average of ${of.at_s.length} looks`;
    const row = (name, number, ways, lines) => {
      const cells = element("i");
      for (let way = 0; way < Math.min(of.ways, 64); way += 1) {
        const cell = element("b");
        if (way < ways) cell.style.background = colourOf(number);
        cells.append(cell);
      }
      return [element("span", name), cells, element("span", `may fill ${ways} of ${of.ways} ways, holds ${mean(lines)} ${looks}`)];
    };
    const box = element("div", null, ...row("target", 0, of.target_ways, of.target_lines), ...(of.others_lines.some((n) => n > 0) || of.others_ways ? row("others", 1, of.others_ways, of.others_lines) : []));
    box.className = "ways";
    box.style.width = "100%";
    place.replaceChildren(box);
  };

  if (data.longest.length) {
    choices("longest", data.longest.map((of) => `${data.cases[of.case].label}: ${time(of.ns)}, ended ${seconds(of.at_s)} into repeat ${of.repeat}`));
    const from = [...new Set(data.longest.flatMap((of) => of.parts.map((part) => part.from)))];
    const longest = data.longest.reduce((best, of, at) => (of.ns > data.longest[best].ns ? at : best), 0);
    document.querySelector("#longest select.choice").value = longest;
    add("longest", null, (figure) => {
      const of = data.longest[chosen("longest")];
      figure.querySelector(".chart").style.height = `${Math.min(Math.max(200, 90 + 30 * of.parts.length), 900)}px`;
      const labels = of.parts.map((part, at) => `${at + 1}. ${part.from}`);
      const least = Math.min(0, ...of.parts.map((part) => part.from_ns));
      const most = Math.max(of.ns, ...of.parts.map((part) => part.from_ns + part.ns));
      return {
        xAxis: axis("value", "from the start of the sample", time, { min: least, max: most }),
        yAxis: axis("category", "", undefined, { data: labels, inverse: true, splitLine: { show: false }, axisLabel: { color: ink("soft"), fontSize: 12, width: narrow.matches ? 110 : 260, overflow: "truncate", interval: 0 } }),
        series: [{
          type: "custom", data: of.parts.map((part, at) => ({ value: [at, part.from_ns, part.from_ns + part.ns], part })), encode: { x: [1, 2], y: 0 }, clip: true,
          renderItem: (_, api) => {
            const [x, y] = api.coord([api.value(1), api.value(0)]);
            const height = Math.min(api.size([0, 1])[1] * 0.62, 22);
            return { type: "rect", shape: { x, y: y - height / 2, width: Math.max(api.coord([api.value(2), 0])[0] - x, 1.5), height, r: 2 }, style: { fill: colourOf(from.indexOf(of.parts[api.value(0)].from)) } };
          },
          tooltip: { formatter: (item) => tip(item.data.part.from, [["from", time(item.data.part.from_ns)], ["took", time(item.data.part.ns)], ["of a sample of", time(of.ns)]], item.data.part.text) },
          markLine: { symbol: "none", silent: true, label: { show: false }, lineStyle: { color: ink("soft"), type: "dashed" }, data: [{ xAxis: 0 }, { xAxis: of.ns }] },
        }],
      };
    });
  }

  data.published.forEach((of, at) => add(`published-${at}`, null, (figure) => {
    const [name, show] = metricOf(of.metric);
    figure.querySelector(".chart").style.height = `${Math.min(Math.max(190, 96 + 34 * of.rows.length), 1400)}px`;
    const values = of.rows.flatMap((row) => [row.ours, row.published].filter((v) => v > 0));
    const log = values.length && Math.max(...values) > 15 * Math.min(...values) && of.rows.every((row) => row.published > 0 && (row.ours === undefined || row.ours > 0));
    const over = (row) => (row.published_s ? seconds(row.published_s) : row.published_samples ? `${count(row.published_samples)} samples` : "");
    const detail = (item) => {
      const row = item.data.row;
      return tip(data.cases[row.case].label, [[`${name} here`, row.ours === undefined ? "not seen" : show(row.ours)], ["seen in", seconds(data.cases[row.case].run_length_s)], ["published", show(row.published)], ["published over", over(row)], ["ratio", row.ours === undefined || !row.published ? "" : `x${digits(row.ours / row.published)}`], ["agreement", row.how]]);
    };
    const line = of.rows.map((row, y) => (row.ours === undefined ? null : [{ coord: [row.ours, y] }, { coord: [row.published, y] }])).filter(Boolean);
    return {
      xAxis: log ? logAxis(axis, name, show, below(0.9 * Math.min(...values)), above(1.1 * Math.max(...values))) : axis("value", name, show, { min: 0 }),
      yAxis: axis("category", "", undefined, { data: of.rows.map((row) => withLength(row.case, ",\n")), inverse: true, axisLabel: { color: ink("soft"), fontSize: 12, width: narrow.matches ? 110 : 280, overflow: "truncate", interval: 0 } }),
      series: [
        { type: "scatter", name: "ours", symbol: "circle", symbolSize: 11, color: colourOf(0), data: of.rows.map((row, y) => (row.ours === undefined ? null : { value: [row.ours, y], row })).filter(Boolean), tooltip: { formatter: detail },
          markLine: { symbol: "none", silent: true, label: { show: false }, lineStyle: { color: ink("soft"), type: "solid", width: 1 }, data: line } },
        { type: "scatter", name: "published", symbol: "diamond", symbolSize: 14, color: colourOf(1), data: of.rows.map((row, y) => ({ value: [row.published, y], row, itemStyle: hollow(colourOf(1), row.how) })), tooltip: { formatter: detail } },
      ],
      legend: { show: true, top: 0, right: 0, data: ["ours", "published"], textStyle: { color: ink("ink"), fontSize: 12 }, selectedMode: false },
    };
  }));

  // ---- the page around them ---------------------------------------------------------------------------------------
  for (const button of document.querySelectorAll("[data-scale]")) button.addEventListener("click", () => {
    state.scale = button.dataset.scale;
    for (const other of document.querySelectorAll("[data-scale]")) other.setAttribute("aria-pressed", other.dataset.scale === state.scale);
    draw();
  });

  for (const table of document.querySelectorAll("table.sortable")) table.querySelectorAll("th").forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const key = (row) => { const cell = row.cells[column]; return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value); };
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        // What is absent comes last in both directions.
        if ((x === "") !== (y === "")) return x === "" ? 1 : -1;
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
        return down ? -order : order;
      });
      body.append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
  });

  const theme = document.getElementById("theme");
  const named = () => { theme.textContent = isDark() ? "light" : "dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; named(); draw(); });
  named();
  dark.addEventListener("change", () => { named(); draw(); });
  narrow.addEventListener("change", draw);
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => charts.forEach(({ chart }) => chart.resize()), 80); });
  // Paper has no folds: all is printed, and folded again afterwards.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    unfolded.forEach((fold) => { fold.open = true; });
    state.printing = true;
    draw();
  });
  addEventListener("afterprint", () => {
    unfolded.forEach((fold) => { fold.open = false; });
    state.printing = false;
    draw();
  });
  // ---- a page of a run that goes on -------------------------------------------------------------------------------
  // What the reader chose outlasts the loading of the next version; a page from a file has nothing kept.
  const kept = (() => { try { return JSON.parse(sessionStorage.getItem("waykeeper")); } catch { return null; } })();
  const folds = [...document.querySelectorAll("details")];
  if (kept && Array.isArray(kept.hidden) && Array.isArray(kept.open)) {
    sessionStorage.removeItem("waykeeper");
    if (kept.theme) { root.dataset.theme = kept.theme; named(); }
    if (kept.cases === data.cases.length) state.hidden = new Set(kept.hidden);
    const button = document.querySelector(`[data-scale="${kept.scale === "log" ? "log" : "linear"}"]`);
    if (button) button.click();
    if (kept.open.length === folds.length) folds.forEach((fold, at) => { fold.open = kept.open[at]; });
  }
  draw();
  if (kept) scrollTo(kept.x, kept.y);
  const live = document.querySelector("meta[name=waykeeper-live]");
  if (live) {
    const notice = document.getElementById("live");
    const told = (text) => { notice.hidden = false; notice.textContent = text; };
    const made = new Date().toLocaleTimeString();
    const goesOn = `This page is served while the run goes on, and shows a repeat soon after it has ended. As of ${made}.`;
    told(goesOn);
    const ask = async () => {
      try {
        const answer = await fetch("/", { method: "HEAD", cache: "no-store", headers: { "If-None-Match": `"${live.content}"` } });
        if (answer.status === 200) {
          const choice = { theme: root.dataset.theme, hidden: [...state.hidden], cases: data.cases.length, scale: state.scale, open: folds.map((fold) => fold.open), x: scrollX, y: scrollY };
          try { sessionStorage.setItem("waykeeper", JSON.stringify(choice)); } catch { /* it begins at the top then */ }
          location.reload();
          return;
        }
        told(answer.status === 304 ? goesOn : `The run's folder cannot be read now: this is what was seen at ${made}.`);
      } catch {
        told(`The program that serves this page does not answer: this is what was seen at ${made}.`);
      }
      setTimeout(ask, 2000);
    };
    setTimeout(ask, 2000);
  }
  root.dataset.drawn = charts.length;
})();
