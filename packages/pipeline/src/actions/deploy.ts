/** Steps of type deploy: a new version of something on a Kubernetes cluster (pipeline language 2.10). */
import type { DeployAction } from '@windlass/plan'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { either, record, text, word } from '../shape.ts'
import { excludes, reportValue } from '../step-rules.ts'
import type { RulePlace, StepType } from '../step-type.ts'
import { child, textOf } from '../tree.ts'

const USUAL_TIMEOUT_SECONDS = '120'

export const deploy: StepType = {
  about: 'Deploys an image or a manifest to a Kubernetes cluster and waits for the roll-out.',
  open: true,
  fields: {
    kind: { shape: word('kubernetes'), required: true, about: 'Always `kubernetes`.' },
    cluster: { shape: text, required: true, about: 'The cluster integration.' },
    namespace: { shape: text, required: true, about: 'The namespace.' },
    service: { shape: text, about: 'The Service whose deployment gets a new image; this or `file_path`.' },
    file_path: { shape: text, about: 'The manifest to apply; each `{{NAME}}` in it is filled in from the variables.' },
    candidate: {
      shape: record({
        image: { shape: text, required: true, about: 'The new image: a reference, or `${{step}}` of a build step.' },
        registry: { shape: text, required: true, about: 'The registry integration that the cluster pulls it with.' },
      }),
      about: 'The new image; the one that runs is rolled out again without it. With `service` alone.',
    },
    timeout: {
      shape: either(text, { kind: 'number', above: 0 }),
      about: 'Seconds to wait for the roll-out; 120 by default.',
    },
  },
  rule(entries, place) {
    excludes(entries, ['service', 'file_path'], place)
    excludes(entries, ['candidate', 'file_path'], place)
    checkTarget(entries, place)
    checkTimeout(entries, place)
  },
  toAction: (entries: Entries): DeployAction => ({
    kind: 'deploy',
    cluster: read.text(entries, 'cluster') ?? '',
    namespace: read.text(entries, 'namespace') ?? '',
    target: toTarget(entries),
    rolloutTimeout: read.plain(read.node(entries, 'timeout')) ?? USUAL_TIMEOUT_SECONDS,
  }),
}

function checkTarget(entries: Entries, { report, path, range }: RulePlace): void {
  if (entries.has('service') || entries.has('file_path')) return
  report.error('required', range, '"service" is required', {
    path: `${path}.service`,
    hint: 'Name a "service", or a manifest as "file_path".',
  })
}

function checkTimeout(entries: Entries, { report, path }: RulePlace): void {
  const written = read.node(entries, 'timeout')
  const text = textOf(written)
  if (written === undefined || text === undefined || text.includes('${{')) return
  if (!(Number(text) > 0)) reportValue(written, { report, path: `${path}.timeout` }, '"timeout" must be a number of seconds')
}

function toTarget(entries: Entries): DeployAction['target'] {
  const filePath = read.text(entries, 'file_path')
  if (filePath !== undefined) return { filePath }
  const written = read.map(entries, 'candidate')
  const [image, registry] = [textOf(child(written, 'image')), textOf(child(written, 'registry'))]
  const candidate = image === undefined || registry === undefined ? undefined : { image, registry }
  return { service: read.text(entries, 'service') ?? '', ...read.when('candidate', candidate) }
}
