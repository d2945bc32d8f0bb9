/**
 * The lines with which output folds itself: `::group::` of GitHub Actions, `##[group]` of Azure Pipelines, `section_start` of GitLab, `travis_fold` of Travis CI, and the headings `---`,
 * `+++` and `~~~` of Buildkite.
 */

export type FoldMarker =
  | {
      readonly style: 'group' | 'section' | 'travis'
      readonly isStart: boolean
      /** Ties an end to its start. Empty for groups, which end in reverse order. */
      readonly key: string
      readonly name: string
      readonly isFolded: boolean
    }
  | { readonly style: 'heading'; readonly sign: '-' | '+' | '~'; readonly name: string }

/** A line that none of these is in has no marker. */
export const FOLD_WORDS =
  /::group::|::endgroup::|##\[(?:end)?group\]|section_start:|section_end:|travis_fold:|^(?:---|\+\+\+|~~~) /gm

// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001B\[[\d;]*[A-Za-z]/g
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001F\u007F]/g
/** GitHub Actions and Azure Pipelines. */
const GROUP = /^(?:::|##\[)(group|endgroup)(?:::|\])(.*)$/
const SECTION = /^section_(start|end):\d+:([\w.-]+)(\[[^\]]*\])?\s*(.*)$/
const TRAVIS = /^travis_fold:(start|end):([\w.-]+)\s*(.*)$/
/** The name starts with a letter, a digit or a sign other than those of file names: `--- a/file` and `--- /dev/null` are of diffs. */
const HEADING = /^(---|\+\+\+|~~~) ((?![ab]\/|\/|FAIL:|PASS:|SKIP:|BENCH:)\S.*)$/
const MAX_NAME = 200

/** Returns the marker at the start of a line as it was written; undefined if it has none. */
export function findFoldMarker(line: string): FoldMarker | undefined {
  const text = line.replace(ESCAPES, '').replace(/\r$/, '')
  const [, sign = '', heading = ''] = HEADING.exec(text) ?? []
  if (sign !== '') return { style: 'heading', sign: sign[0] as '-' | '+' | '~', name: clean(heading) }
  const [, place, title] = GROUP.exec(text) ?? []
  if (place !== undefined) return marker('group', { isStart: place === 'group', ...(title !== undefined && { name: title }) })
  const section = SECTION.exec(text)
  if (section !== null) {
    const [, side, key = '', options = '', header = ''] = section
    return marker('section', { isStart: side === 'start', key, name: header, isFolded: options.includes('collapsed=true') })
  }
  const travis = TRAVIS.exec(text)
  if (travis === null) return undefined
  const [, side, key = '', header = ''] = travis
  return marker('travis', { isStart: side === 'start', key, name: header })
}

function marker(
  style: 'group' | 'section' | 'travis',
  { isStart, key = '', name = '', isFolded = true }: { isStart: boolean; key?: string; name?: string; isFolded?: boolean },
): FoldMarker {
  const text = clean(name)
  return { style, isStart, key, name: text === '' ? key : text, isFolded }
}

function clean(name: string): string {
  return name.replace(CONTROLS, ' ').trim().slice(0, MAX_NAME)
}
