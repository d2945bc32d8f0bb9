/** Sets the theme and the density before the first paint, so that the page never shows the other theme. */
try {
  const { theme, density } = JSON.parse(localStorage.getItem('windlass.looks') ?? '{}')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  if (density === 'compact') document.documentElement.dataset.density = density
} catch {
  // Storage is blocked or holds something else; the theme of the system is used.
}
