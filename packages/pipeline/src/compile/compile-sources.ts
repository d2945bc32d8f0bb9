/** Compiles what a pipeline loads from other places: its steps (`specTemplate`) and files for its volume (`externalResources`). */
import type { DocumentSource, ExternalResource } from '@windlass/plan'
import { check } from '../language/check.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Report } from '../syntax/report.ts'
import { flag, optionalText, text, word } from '../language/shape.ts'
import type { Shape } from '../language/shape.ts'

/** Returns the checked `specTemplate` of a `spec`, or undefined if the steps are in the document. */
export function toSource(spec: Entries): DocumentSource | undefined {
  const template = read.map(spec, 'specTemplate')?.entries
  if (template === undefined) return undefined
  if (read.text(template, 'location') !== 'git') return { location: 'url', url: read.text(template, 'url') ?? '' }
  return {
    location: 'git',
    repo: read.text(template, 'repo') ?? '',
    path: read.text(template, 'path') ?? '',
    ...read.when('revision', nonEmpty(read.text(template, 'revision'))),
    ...read.when('git', read.text(template, 'context')),
  }
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}

const MAX_RESOURCES = 100

const RESOURCE: Shape = {
  kind: 'record',
  fields: {
    id: { shape: optionalText, about: 'Read only.' },
    type: { shape: word('git'), about: 'Always `git`.' },
    source: { shape: text, required: true, about: 'Path in the repository.' },
    context: { shape: text, about: 'Git integration; the default one if absent.' },
    destination: { shape: text, required: true, about: 'Folder on the shared volume.' },
    isFolder: { shape: flag, about: 'True copies the contents of the folder `source`; false by default.' },
    repo: { shape: text, required: true, about: '`owner/name`, or a repository URL.' },
    revision: { shape: text, required: true, about: 'Branch, tag or commit.' },
  },
}

/** Checks and returns the `externalResources` of a `spec`. */
export function toResources(spec: Entries, report: Report): ExternalResource[] | undefined {
  const written = read.node(spec, 'externalResources')
  if (written === undefined) return undefined
  const spot = { key: 'externalResources', path: 'spec.externalResources' }
  if (!check(written, { kind: 'list', of: RESOURCE }, spot, report) || written.kind !== 'list') return undefined
  if (written.items.length > MAX_RESOURCES) {
    report.error('too-large', written.range, `"externalResources" can have at most ${MAX_RESOURCES} entries`, { path: spot.path })
    return undefined
  }
  return written.items.flatMap((item) => {
    if (item.kind !== 'map') return []
    const of = (key: string): string => read.text(item.entries, key) ?? ''
    return {
      repo: of('repo'),
      revision: of('revision'),
      ...read.when('git', read.text(item.entries, 'context')),
      source: of('source'),
      destination: of('destination'),
      isFolder: read.flag(item.entries, 'isFolder') === true,
    }
  })
}
