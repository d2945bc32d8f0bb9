/** Rules of step types that the tables of the language cannot say. */
import { findReferences } from '@windlass/plan'
import { currentValue, isVariable } from './check.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { Report } from './report.ts'
import { textOf } from './tree.ts'

interface Spot {
  readonly report: Report
  /** Of the step, such as `steps.test`. */
  readonly path: string
}

export type Rule = (entries: Entries, place: Spot & { readonly buildVersion: 'v1' | 'v2' }) => void

/** What the tables cannot say: fields that exclude each other, and forms of texts. */
export const STEP_RULES: Readonly<Record<string, Rule>> = {
  freestyle(entries, place) {
    excludes(entries, ['commands', 'cmd'], place)
    excludes(entries, ['shell', 'cmd'], place)
    eachText(entries, 'environment', place, (text) => (/^[^=]+=/.test(text) ? undefined : 'must have the form NAME=VALUE'))
    eachText(entries, 'volumes', place, (text) => (text.includes(':') ? undefined : 'must have the form source:/target'))
    const plural = entries.get('registry_contexts')
    if (plural === undefined) return
    place.report.error(
      'not-allowed',
      plural.keyRange,
      '"registry_contexts" is not allowed on freestyle steps. Did you mean "registry_context"?',
      {
        path: `${place.path}.registry_contexts`,
        suggestion: { from: 'registry_contexts', to: 'registry_context' },
      },
    )
  },
  build(entries, place) {
    warnOfUppercase(entries, place)
    eachText(entries, 'build_arguments', place, (text) => (text.includes('=') ? undefined : 'must have the form NAME=VALUE'))
    if (place.buildVersion === 'v2') return
    for (const key of ['registry', 'tags', 'disable_push']) {
      const entry = entries.get(key)
      if (entry === undefined) continue
      place.report.error('not-allowed', entry.keyRange, `"${key}" is not allowed with "build_version: v1"`, {
        path: `${place.path}.${key}`,
        hint: 'Use "build_version: v2".',
      })
    }
  },
  push: warnOfUppercase,
}

function excludes(entries: Entries, [field, peer]: readonly [string, string], { report, path }: Spot): void {
  const entry = entries.get(field)
  if (entry === undefined || !entries.has(peer)) return
  report.error('conflict', entry.keyRange, `"${field}" conflict with forbidden peer "${peer}"`, {
    path: `${path}.${field}`,
    hint: 'Keep one of them.',
  })
}

function eachText(entries: Entries, key: string, { report, path }: Spot, problemOf: (text: string) => string | undefined): void {
  const list = read.node(entries, key)
  for (const [index, item] of (list?.kind === 'list' ? list.items : []).entries()) {
    const text = textOf(item)
    if (text === undefined || text.trim() === '' || isVariable(text)) continue
    const problem = problemOf(text)
    if (problem !== undefined)
      report.error('invalid-value', item.range, `"${index}" ${problem}${currentValue(item)}`, {
        path: `${path}.${key}[${index}]`,
      })
  }
}

function warnOfUppercase(entries: Entries, { report, path }: Spot): void {
  const name = read.text(entries, 'image_name')
  const written = read.node(entries, 'image_name')
  if (name === undefined || written === undefined) return
  let plain = name
  for (const { start, end } of findReferences(name).toReversed()) plain = plain.slice(0, start) + plain.slice(end)
  if (plain === plain.toLowerCase()) return
  report.warning('uppercase-image', written.range, `"image_name" must be lower case. Current value: ${name}`, {
    path: `${path}.image_name`,
    hint: 'It is used in lower case.',
    suggestion: { from: name, to: name.toLowerCase() },
  })
}
