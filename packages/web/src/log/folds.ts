/** Folds in output: sections that tools mark with lines at their start and end. Lines are numbered from 0. */

export interface Fold {
  /** Line with the heading, which stays visible. */
  readonly from: number
  /** Last line. */
  readonly to: number
  readonly title: string
}

export interface Marker {
  readonly line: number
  /** Name of the section; ends close the latest open section of their name. */
  readonly name: string
  /** Title of a section that begins here; absent at its end. */
  readonly title?: string
  /** True for a heading, which also ends the heading before. */
  readonly isHeading?: true
}

const GROUP = /^(?:##\[|::)(group|endgroup)(?:\]|::)(.*)$/
const SECTION = /section_(start|end):\d+:([\w.-]+)(?:\[[^\]]*\])?(.*)$/
const TRAVIS = /travis_fold:(start|end):([\w.-]+)(.*)$/
/** Headings. The names of files in a diff are none. */
const HEADING = /^(?:-{3,}|\+{3,}|~{3,})\s+(?!a\/|b\/|\/dev\/null)(\S.*)$/

/** Returns the marker in the visible text of a line. A line without one is the usual case. */
export function markerOf(text: string, line: number): Marker | undefined {
  const group = GROUP.exec(text)
  if (group !== null) return toMarker(line, '::', { isStart: group[1] === 'group', title: group[2] ?? '' })
  const named = text.includes('section_') ? SECTION.exec(text) : text.includes('travis_fold') ? TRAVIS.exec(text) : null
  if (named !== null) return toMarker(line, named[2] ?? '', { isStart: named[1] === 'start', title: named[3] ?? '' })
  const heading = HEADING.exec(text)?.[1]
  return heading === undefined ? undefined : { line, name: '---', title: heading.trim(), isHeading: true }
}

function toMarker(line: number, name: string, { isStart, title }: { isStart: boolean; title: string }): Marker {
  return isStart ? { line, name, title: title.trim() === '' ? name : title.trim() } : { line, name }
}

/** Returns the folds of markers, which are in order of their lines, up to the last line that is known. A section without an end is none. */
export function foldsOf(markers: readonly Marker[], lastLine: number): Fold[] {
  const folds: Fold[] = []
  const open: Marker[] = []
  for (const marker of markers) {
    const start = open.findLastIndex(({ name }) => name === marker.name)
    if (marker.isHeading) {
      if (start >= 0) close(folds, open.splice(start)[0], marker.line - 1)
      open.push(marker)
    } else if (marker.title !== undefined) open.push(marker)
    else if (start >= 0) close(folds, open.splice(start)[0], marker.line)
  }
  const heading = open.find(({ isHeading }) => isHeading)
  if (heading !== undefined) close(folds, heading, lastLine)
  return folds.toSorted((a, b) => a.from - b.from || b.to - a.to)
}

function close(folds: Fold[], start: Marker | undefined, to: number): void {
  if (start?.title !== undefined && to > start.line) folds.push({ from: start.line, to, title: start.title })
}
