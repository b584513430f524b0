'use strict';
(function() {
const holder = document.getElementById('timelines');
const source = document.getElementById('timeline-data');
if (!holder || !source) return;
const data = JSON.parse(source.textContent);
const categoryNames = {
  gemm: 'GEMM',
  kernel: 'kernel',
  copy: 'copy or memset',
  collective: 'collective'
};
const svgNamespace = 'http://www.w3.org/2000/svg';
const left = 150, right = 12, rowHeight = 15, rankGap = 7, top = 4, axisHeight = 24;
const full = Math.max.apply(null, data.arms.map(function(arm) {
  return arm.length_us;
})) *
    1.02;
const view = {
  start: 0,
  end: full,
  rank: 'all'
};

function element(name, attributes, text) {
  const node = document.createElementNS(svgNamespace, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  return node;
}

function formatTime(us) {
  if (us >= 1000) return (us / 1000).toFixed(us >= 100000 ? 1 : 2) + ' ms';
  return us.toFixed(us >= 100 ? 0 : 1) + ' µs';
}

function formatTick(us) {
  if (us === 0) return '0';
  return us >= 1000 ? Number((us / 1000).toPrecision(5)) + ' ms' :
                      Number(us.toPrecision(5)) + ' µs';
}

function tickDistance(span) {
  const power = Math.pow(10, Math.floor(Math.log10(span / 6)));
  const steps = [1, 2, 5, 10];
  for (let i = 0; i < steps.length; ++i) {
    if (span / (steps[i] * power) <= 9) return steps[i] * power;
  }
  return 10 * power;
}

const ranks = [];
data.arms.forEach(function(arm) {
  arm.rows.forEach(function(row) {
    if (ranks.indexOf(row.rank) < 0) ranks.push(row.rank);
  });
});
ranks.sort(function(a, b) {
  return a - b;
});

const tip = document.createElement('div');
tip.id = 'tip';
document.body.appendChild(tip);

const panels = data.arms.map(function(arm) {
  const panel = document.createElement('div');
  panel.className = 'panel';
  const title = document.createElement('h3');
  title.textContent = arm.name + ' ';
  const note = document.createElement('small');
  note.textContent = 'step ' + formatTime(arm.length_us) +
      (arm.left_out ? ', ' + arm.left_out + ' short items not drawn' : '');
  title.appendChild(note);
  const svg = element('svg', {role: 'img', 'aria-label': 'Timeline of arm ' + arm.name});
  panel.appendChild(title);
  panel.appendChild(svg);
  return {arm: arm, panel: panel, svg: svg};
});

function layoutRows(arm) {
  const positions = [];
  let y = top, last = null;
  arm.rows.forEach(function(row, index) {
    if (view.rank !== 'all' && String(row.rank) !== view.rank) {
      positions[index] = null;
      return;
    }
    const height = view.rank === 'all' ? rowHeight : rowHeight * 2;
    if (last !== null && last !== row.rank) y += rankGap;
    positions[index] = {y: y, height: height, first: last !== row.rank};
    last = row.rank;
    y += height;
  });
  return {positions: positions, bottom: y};
}

function draw(target) {
  const svg = target.svg, arm = target.arm;
  const width = Math.max(svg.parentNode.clientWidth, 480);
  const rows = layoutRows(arm);
  const height = rows.bottom + axisHeight;
  const scale = (width - left - right) / (view.end - view.start);
  const x = function(us) {
    return left + (us - view.start) * scale;
  };
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  svg.setAttribute('height', height);
  svg.textContent = '';
  const clip = 'clip-' + arm.name.replace(/[^A-Za-z0-9]/g, '_');
  const definitions = element('defs', {});
  const path = element('clipPath', {id: clip});
  path.appendChild(element('rect', {x: left, y: 0, width: width - left - right, height: height}));
  definitions.appendChild(path);
  svg.appendChild(definitions);
  arm.rows.forEach(function(row, index) {
    const at = rows.positions[index];
    if (!at) return;
    svg.appendChild(element('rect', {
      class: 'lane',
      x: left,
      y: at.y + 0.5,
      width: width - left - right,
      height: at.height - 1
    }));
    if (at.first)
      svg.appendChild(element(
          'text', {class: 'rank', x: 0, y: at.y + at.height / 2 + 4.5}, 'rank ' + row.rank));
    svg.appendChild(element(
        'text',
        {class: 'row-label', x: left - 8, y: at.y + at.height / 2 + 4, 'text-anchor': 'end'},
        row.label));
  });
  const plot = element('g', {'clip-path': 'url(#' + clip + ')'});
  svg.appendChild(plot);
  const distance = tickDistance(view.end - view.start);
  for (let t = Math.ceil(view.start / distance) * distance; t <= view.end; t += distance) {
    plot.appendChild(
        element('path', {class: 'grid', d: 'M' + x(t) + ' ' + top + 'V' + rows.bottom}));
    svg.appendChild(element(
        'text',
        {class: 'tick', x: x(t), y: rows.bottom + 17, 'text-anchor': t === 0 ? 'start' : 'middle'},
        formatTick(t)));
  }
  arm.items.forEach(function(item, index) {
    const at = rows.positions[item[0]];
    if (!at || item[2] < view.start || item[1] > view.end) return;
    plot.appendChild(element('rect', {
      class: 'item c' + item[3],
      x: x(item[1]),
      y: at.y + 1.5,
      'data-item': index,
      width: Math.max((item[2] - item[1]) * scale, 0.8),
      height: at.height - 3,
      rx: 1.5
    }));
  });
  plot.appendChild(element(
      'path', {class: 'step-end', d: 'M' + x(arm.length_us) + ' ' + top + 'V' + rows.bottom}));
}

function drawAll() {
  panels.forEach(draw);
}

function zoom(factor, center) {
  const span = Math.min(Math.max((view.end - view.start) * factor, full / 5000), full);
  const share = (center - view.start) / (view.end - view.start);
  view.start = Math.max(0, Math.min(center - span * share, full - span));
  view.end = view.start + span;
  drawAll();
}

function move(us) {
  const span = view.end - view.start;
  view.start = Math.max(0, Math.min(view.start + us, full - span));
  view.end = view.start + span;
  drawAll();
}

function timeAt(svg, clientX) {
  const box = svg.getBoundingClientRect();
  const share = (clientX - box.left - left) / (box.width - left - right);
  return view.start + Math.max(0, Math.min(share, 1)) * (view.end - view.start);
}

panels.forEach(function(target) {
  const svg = target.svg;
  let grabbed = null;
  svg.addEventListener('wheel', function(event) {
    if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      move(event.deltaX / svg.clientWidth * (view.end - view.start));
    } else {
      zoom(Math.exp(event.deltaY * 0.0015), timeAt(svg, event.clientX));
    }
    event.preventDefault();
  }, {passive: false});
  svg.addEventListener('pointerdown', function(event) {
    grabbed = event.clientX;
    svg.setPointerCapture(event.pointerId);
    svg.classList.add('dragging');
  });
  svg.addEventListener('pointermove', function(event) {
    if (grabbed !== null) {
      move((grabbed - event.clientX) / (svg.clientWidth - left - right) * (view.end - view.start));
      grabbed = event.clientX;
      tip.style.display = 'none';
      return;
    }
    const index = event.target.getAttribute('data-item');
    if (index === null) {
      tip.style.display = 'none';
      return;
    }
    const item = target.arm.items[index], row = target.arm.rows[item[0]];
    tip.textContent = target.arm.names[item[4]] + ' · ' + formatTime(item[2] - item[1]) +
        ' · from ' + formatTime(item[1]) + ' · rank ' + row.rank + ', ' + row.label;
    tip.style.display = 'block';
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - 440) + 'px';
    tip.style.top = event.clientY + 16 + 'px';
  });
  svg.addEventListener('pointerup', function() {
    grabbed = null;
    svg.classList.remove('dragging');
  });
  svg.addEventListener('pointerleave', function() {
    tip.style.display = 'none';
  });
});

function button(text, label, action) {
  const node = document.createElement('button');
  node.type = 'button';
  node.textContent = text;
  node.setAttribute('aria-label', label);
  node.addEventListener('click', action);
  return node;
}

const toolbar = document.createElement('div');
toolbar.className = 'toolbar';
const buttons = document.createElement('div');
buttons.className = 'buttons';
const middle = function() {
  return (view.start + view.end) / 2;
};
buttons.appendChild(button('+', 'Zoom in', function() {
  zoom(0.6, middle());
}));
buttons.appendChild(button('−', 'Zoom out', function() {
  zoom(1 / 0.6, middle());
}));
buttons.appendChild(button('Whole step', 'Show the whole step', function() {
  view.start = 0;
  view.end = full;
  drawAll();
}));
toolbar.appendChild(buttons);
const label = document.createElement('label');
label.textContent = 'Ranks ';
const select = document.createElement('select');
['all'].concat(ranks).forEach(function(rank) {
  const option = document.createElement('option');
  option.value = String(rank);
  option.textContent = rank === 'all' ? 'all' : 'rank ' + rank;
  select.appendChild(option);
});
select.addEventListener('change', function() {
  view.rank = select.value;
  drawAll();
});
label.appendChild(select);
toolbar.appendChild(label);
const legend = document.createElement('div');
legend.className = 'legend';
data.categories.forEach(function(category, index) {
  const entry = document.createElement('span');
  const swatch = document.createElement('i');
  swatch.className = 'c' + index;
  entry.appendChild(swatch);
  entry.appendChild(document.createTextNode(categoryNames[category] || category));
  legend.appendChild(entry);
});
toolbar.appendChild(legend);
holder.appendChild(toolbar);
panels.forEach(function(target) {
  holder.appendChild(target.panel);
});
window.addEventListener('resize', drawAll);
drawAll();
})();
