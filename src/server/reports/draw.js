/* Renders each chart again, with tooltips, legend and zoom. A bar or a point opens the rows behind it. */
for (const figure of document.querySelectorAll('figure')) {
  const place = figure.querySelector('.chart');
  place.replaceChildren();
  const drawing = echarts.init(place, null, { renderer: 'svg' });
  const [chart, figures, links] = ['chart', 'figures', 'links'].map((name) => JSON.parse(figure.dataset[name]));
  drawing.setOption(chartOptions(chart, figures, true));
  drawing.on('click', ({ seriesIndex, dataIndex }) => {
    const link = links[chart.keys[seriesIndex]];
    const { date } = figures.days[dataIndex];
    if (link) location.assign(`${link}&from=${date}&to=${date}`);
  });
  const resize = () => drawing.resize();
  new ResizeObserver(resize).observe(place);
  addEventListener('beforeprint', resize);
}
