"use strict";
(() => {
  const root = document.getElementById("mechanism");
  const data = JSON.parse(document.getElementById("mechanism-data").textContent);
  const find = (name) => root.querySelector(name);
  const canvas = find("canvas");
  const pen = canvas.getContext("2d");
  const play = find(".play"), slider = find(".frame"), time = find(".time");
  const reset = find(".reset"), trails = find(".trails"), speed = find(".speed");
  const HOME = { azimuth: -1.05, elevation: 0.38 };
  let view = { ...HOME }, trial, frame = 0, clock = 0, last = null;

  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // Whole numbers become metres; `null` marks what the model could not tell.
  function unpack(raw) {
    const at = (f, p) => {
      const start = (f * raw.points + p) * raw.dim, found = [];
      for (let axis = 0; axis < raw.dim; axis++) {
        const part = raw.numbers[start + axis];
        if (part === null) return null;
        found.push(raw.origin[axis] + raw.scale * part);
      }
      return found;
    };
    const frames = raw.times.map((_, f) => Array.from({ length: raw.points }, (_, p) => at(f, p)));
    const low = Array(raw.dim).fill(Infinity), high = Array(raw.dim).fill(-Infinity);
    for (const points of frames) for (const point of points) if (point) point.forEach((part, axis) => {
      low[axis] = Math.min(low[axis], part);
      high[axis] = Math.max(high[axis], part);
    });
    const diagonal = Math.hypot(...high.map((part, axis) => part - low[axis])) || 1;
    const still = Array.from({ length: raw.points }, (_, p) => frames.every((points) =>
      points[p] && frames[0][p] && Math.hypot(...points[p].map((part, axis) => part - frames[0][p][axis]))
        < 2e-3 * diagonal));
    const middle = low.map((part, axis) => (part + high[axis]) / 2);
    return { ...raw, frames, low, high, diagonal, still, middle };
  }
  const trials = data.trials.map(unpack);

  // Coordinates on the canvas, from the middle, in metres, upwards.
  function flat(point) {
    const [x, y, z] = point.map((part, axis) => part - trial.middle[axis]);
    if (trial.dim < 3) return [x, y ?? 0];
    const [c, s] = [Math.cos(view.azimuth), Math.sin(view.azimuth)];
    return [c * y - s * x, Math.cos(view.elevation) * z - Math.sin(view.elevation) * (c * x + s * y)];
  }

  function projector(width, height) {
    const edge = 36, wide = width - 2 * edge, tall = height - 2 * edge;
    const sizes = trial.high.map((part, axis) => part - trial.low[axis]);
    const scale = trial.dim < 3
      ? Math.min(wide / (sizes[0] || 1e-9), tall / (sizes[1] || 1e-9))
      : Math.min(wide, 1.15 * tall) / trial.diagonal;
    const limited = Math.min(scale, Math.min(wide, tall) / (0.02 * trial.diagonal));
    return {
      scale: limited,
      at: (point) => {
        const [u, v] = flat(point);
        return [width / 2 + limited * u, height / 2 - limited * v];
      },
    };
  }

  function path(points, at) {
    pen.beginPath();
    let open = false;
    for (const point of points) {
      if (!point) { open = false; continue; }
      const [x, y] = at(point);
      if (open) pen.lineTo(x, y); else pen.moveTo(x, y);
      open = true;
    }
    pen.stroke();
  }

  function mark(point, still, at) {
    const [x, y] = at(point);
    pen.beginPath();
    if (still) {
      pen.moveTo(x, y); pen.lineTo(x + 8, y + 14); pen.lineTo(x - 8, y + 14); pen.closePath();
      pen.fillStyle = color("--muted");
      pen.fill();
      pen.beginPath();
    }
    pen.arc(x, y, 4.5, 0, 2 * Math.PI);
    pen.fillStyle = color("--card");
    pen.fill();
    pen.lineWidth = 2;
    pen.strokeStyle = color("--ink");
    pen.stroke();
  }

  // A length that is 1, 2 or 5 times a power of ten.
  function ruler(scale, width, height) {
    const most = 0.22 * width / scale, power = 10 ** Math.floor(Math.log10(most));
    const length = power * [5, 2, 1].find((times) => times * power <= most);
    const [name, unit] = length < 0.01 ? ["mm", 1e3] : length < 1 ? ["cm", 100] : ["m", 1];
    const x = 16, y = height - 14, end = x + length * scale;
    pen.strokeStyle = pen.fillStyle = color("--muted");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, y - 4); pen.lineTo(x, y); pen.lineTo(end, y); pen.lineTo(end, y - 4);
    pen.stroke();
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(`${+(length * unit).toPrecision(2)} ${name}`, x + 4, y - 6);
  }

  function draw() {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width) return;
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    pen.lineJoin = pen.lineCap = "round";
    const { scale, at } = projector(box.width, box.height), points = trial.frames[frame];
    if (trails.checked) {
      pen.strokeStyle = color("--path");
      pen.lineWidth = 1.2;
      for (let p = 0; p < trial.points; p++)
        if (!trial.still[p]) path(trial.frames.map((each) => each[p]), at);
    }
    pen.strokeStyle = color("--accent");
    pen.lineWidth = 4;
    for (const [from, to] of data.lines)
      if (points[from] && points[to]) path([points[from], points[to]], at);
    points.forEach((point, p) => { if (point) mark(point, trial.still[p], at); });
    ruler(scale, box.width, box.height);
  }

  function show(number) {
    frame = Math.max(0, Math.min(trial.times.length - 1, number));
    slider.value = frame;
    time.textContent = `${trial.times[frame].toFixed(2)} s`;
    slider.setAttribute("aria-valuetext", time.textContent);
    draw();
  }

  function choose(number) {
    trial = trials[number];
    slider.max = trial.times.length - 1;
    clock = trial.times[0];
    find(".frames").textContent = trial.samples > trial.times.length
      ? `, ${trial.times.length} of ${trial.samples} samples` : "";
    reset.hidden = find(".turn").hidden = trial.dim < 3;
    canvas.classList.toggle("turnable", trial.dim > 2);
    show(0);
  }

  function tick(now) {
    if (play.getAttribute("aria-pressed") !== "true") { last = null; return; }
    if (last !== null) clock += (now - last) / 1000 * Number(speed.value);
    last = now;
    const end = trial.times[trial.times.length - 1];
    if (clock > end) clock = trial.times[0];
    let next = clock < trial.times[frame] ? 0 : frame;
    while (next + 1 < trial.times.length && trial.times[next + 1] <= clock) next++;
    if (next !== frame) show(next);
    requestAnimationFrame(tick);
  }

  function run(running) {
    play.setAttribute("aria-pressed", String(running));
    play.textContent = running ? "Pause" : "Play";
    if (running) {
      clock = frame === trial.times.length - 1 ? trial.times[0] : trial.times[frame];
      requestAnimationFrame(tick);
    }
  }

  function turn(right, up) {
    if (trial.dim < 3) return;
    view.azimuth -= right;
    view.elevation = Math.max(-1.57, Math.min(1.57, view.elevation + up));
    draw();
  }

  play.addEventListener("click", () => run(play.getAttribute("aria-pressed") !== "true"));
  slider.addEventListener("input", () => { show(Number(slider.value)); clock = trial.times[frame]; });
  find(".trial").addEventListener("change", (event) => choose(Number(event.target.value)));
  trails.addEventListener("change", draw);
  reset.addEventListener("click", () => { view = { ...HOME }; draw(); });
  canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) turn(event.movementX / 120, event.movementY / 120);
  });
  const KEYS = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
  canvas.addEventListener("keydown", (event) => {
    if (trial.dim < 3 || !KEYS[event.key]) return;
    event.preventDefault();
    turn(...KEYS[event.key]);
  });
  for (const query of ["(prefers-color-scheme: dark)", "print"])
    window.matchMedia(query).addEventListener("change", draw);
  window.addEventListener("resize", draw);
  choose(0);
})();
