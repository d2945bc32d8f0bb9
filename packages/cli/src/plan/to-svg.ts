/** A plan as a self-contained SVG for light and dark pages. */
import { layOut, type Box, type Preview, type StepForecast } from '@windlass/plan'

const COLOURS: Readonly<Record<StepForecast, string>> = {
  runs: '#2da44e',
  depends: '#bf8700',
  skipped: '#8c959f',
  fails: '#cf222e',
}

export function toSvg(preview: Preview): string {
  const { width, height, boxes } = layOut(preview)
  const byName = new Map(boxes.map((box) => [box.step.name, box]))
  const hooks = Map.groupBy(
    preview.steps.filter(({ hook }) => hook !== undefined),
    ({ hook }) => hook?.of ?? '',
  )
  const momentsOf = (name: string): string => (hooks.get(name) ?? []).map(({ hook }) => hook?.moment ?? '').join(' ')
  const lines = boxes.flatMap((box) =>
    box.step.after.flatMap((name) => {
      const from = byName.get(name)
      return from === undefined ? [] : [arrow(from, box)]
    }),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}" font-family="ui-sans-serif, system-ui, sans-serif">`,
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>',
    ...boxes.filter(({ isGroup }) => isGroup).map((box) => drawBox(box, momentsOf(box.step.name))),
    ...lines,
    ...boxes.filter(({ isGroup }) => !isGroup).map((box) => drawBox(box, momentsOf(box.step.name))),
    '</svg>',
  ].join('\n')
}

function drawBox({ step, x, y, width, height, isGroup }: Box, moments: string): string {
  const color = COLOURS[step.forecast]
  const dashes = step.forecast === 'runs' ? '' : ' stroke-dasharray="5 3"'
  const fill = isGroup ? 'fill="#8c959f" fill-opacity="0.08"' : 'fill="#ffffff"'
  const text = (dy: number, content: string, style: string): string =>
    content === ''
      ? ''
      : `<text x="${round(x + 12)}" y="${round(y + dy)}" ${style}>${escape(fit(content, width, style.includes('600') ? WIDE : NARROW))}</text>`
  return [
    `<g><title>${escape([step.name, step.because ?? ''].filter((part) => part !== '').join(': '))}</title>`,
    `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="8" ${fill} stroke="${color}" stroke-width="1.5"${dashes}/>`,
    text(isGroup ? 18 : 21, step.title, `font-size="13" font-weight="600" fill="${isGroup ? '#8c959f' : '#1f2328'}"`),
    isGroup ? '' : text(39, step.subject, 'font-size="11" fill="#656d76"'),
    text(height - 8, moments, 'font-size="10" fill="#0969da"'),
    '</g>',
  ].join('')
}

function arrow(from: Box, to: Box): string {
  const x1 = from.x + from.width
  const y1 = from.y + from.height / 2
  const y2 = to.y + to.height / 2
  const bend = Math.max(16, (to.x - x1) / 2)
  return `<path d="M${round(x1)} ${round(y1)}C${round(x1 + bend)} ${round(y1)} ${round(to.x - bend)} ${round(y2)} ${round(to.x - 2)} ${round(y2)}" fill="none" stroke="#8c959f" stroke-width="1.4" marker-end="url(#tip)"/>`
}

/** Character widths, estimated for the wider common fonts. */
const WIDE = 7.9
const NARROW = 6.6

function fit(text: string, width: number, character: number): string {
  const most = Math.floor((width - 22) / character)
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escape(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
