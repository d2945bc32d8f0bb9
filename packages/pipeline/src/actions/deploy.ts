/** Step type deploy: deploys a new version to a Kubernetes cluster. */
import type { DeployAction } from '@windlass/plan'
import { checkCluster } from '../context/check-cluster.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { either, record, text, word } from '../language/shape.ts'
import { excludes, reportValue } from '../language/step-rules.ts'
import type { RulePlace, BuiltInStepType } from '../language/step-type.ts'
import { child, textOf } from '../syntax/tree.ts'

const DEFAULT_TIMEOUT_SECONDS = '120'

export const deploy: BuiltInStepType<DeployAction> = {
  about: 'Deploys an image or a manifest to a Kubernetes cluster and waits for the rollout.',
  open: true,
  fields: {
    kind: { shape: word('kubernetes'), required: true, about: 'Always `kubernetes`.' },
    cluster: { shape: text, required: true, about: 'Cluster integration.' },
    namespace: { shape: text, required: true, about: 'Namespace.' },
    service: { shape: text, about: 'Service whose deployment gets a new image. Set this or `file_path`.' },
    file_path: { shape: text, about: 'Manifest to apply; each `{{NAME}}` in it is replaced by the variable.' },
    candidate: {
      shape: record({
        image: { shape: text, required: true, about: 'Image reference, or `${{step}}` of a build step.' },
        registry: { shape: text, required: true, about: 'Registry integration that the cluster uses to pull the image.' },
      }),
      about: 'The new image, only with `service`. If absent, the running image is rolled out again.',
    },
    timeout: {
      shape: either(text, { kind: 'number', above: 0 }),
      about: 'Seconds to wait for the rollout; 120 by default.',
    },
  },
  rule(entries, place) {
    excludes(entries, ['service', 'file_path'], place)
    excludes(entries, ['candidate', 'file_path'], place)
    checkTarget(entries, place)
    checkTimeout(entries, place)
  },
  checkContext: checkCluster,
  toAction: (entries: Entries): DeployAction => ({
    kind: 'deploy',
    cluster: read.text(entries, 'cluster') ?? '',
    namespace: read.text(entries, 'namespace') ?? '',
    target: toTarget(entries),
    rolloutTimeout: read.plain(read.node(entries, 'timeout')) ?? DEFAULT_TIMEOUT_SECONDS,
  }),
}

function checkTarget(entries: Entries, { report, path, range }: RulePlace): void {
  if (entries.has('service') || entries.has('file_path')) return
  report.error('required', range, '"service" is required', {
    path: `${path}.service`,
    hint: 'Set "service", or "file_path" to a manifest.',
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
