/** Step type freestyle: runs a container of any image. */
import type { FreestyleAction } from '@windlass/plan'
import { checkNamed, REGISTRY } from '../context/integrations.ts'
import { STEP_SERVICES } from '../language/control-fields.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { optionalText, text, word } from '../language/shape.ts'
import { eachText, environmentEntry, excludes, refuses } from '../language/step-rules.ts'
import type { BuiltInStepType } from '../language/step-type.ts'
import { checkRole } from './aws.ts'
import { commandLine, environment, workingDirectory } from './common-fields.ts'

export const freestyle: BuiltInStepType<FreestyleAction> = {
  about: 'Runs a container of any image.',
  open: true,
  fields: {
    image: { shape: text, required: true, about: 'Image reference, or `${{step}}` of a build or push step.' },
    working_directory: {
      ...workingDirectory,
      about: `${workingDirectory.about} \`IMAGE_WORK_DIR\` is the directory of the image.`,
    },
    commands: {
      shape: { kind: 'list', of: optionalText },
      about: 'Commands that a shell with `set -e` runs instead of the entry point.',
    },
    cmd: { shape: commandLine, about: 'Arguments for the entry point.' },
    entry_point: { shape: commandLine, about: 'Replaces the entry point of the image.' },
    shell: { shape: word('sh', 'bash'), about: 'Shell for `commands`; `sh` by default.' },
    environment: { shape: environment, about: 'List of `NAME=VALUE`, or a mapping of names to values.' },
    volumes: {
      shape: { kind: 'list', of: text },
      about: 'List of `source:/target[:ro]`; the source is a path below the shared volume.',
    },
    registry_context: { shape: text, about: 'Registry integration for pulling the image.' },
    role_arn: { shape: text, about: 'IAM role to pull from an ECR registry of another account; needs `registry_context`.' },
    services: STEP_SERVICES,
  },
  rule(entries, place) {
    excludes(entries, ['commands', 'cmd'], place)
    excludes(entries, ['shell', 'cmd'], place)
    eachText(entries, 'environment', { ...place, problemOf: environmentEntry })
    eachText(entries, 'volumes', {
      ...place,
      problemOf: (entry) => (entry.includes(':') ? undefined : 'must have the form source:/target'),
    })
    refuses(entries, ['registry_contexts', 'registry_context'], place)
    checkRole(entries, place)
    const role = entries.get('role_arn')
    if (role !== undefined && !entries.has('registry_context'))
      place.report.error('registry-needed', role.keyRange, '"role_arn" is only allowed with "registry_context"', {
        path: `${place.path}.role_arn`,
        hint: 'Set "registry_context" to the registry integration for the pull.',
      })
  },
  checkContext: (entries, place) =>
    checkNamed(entries.get('registry_context')?.value, { ...REGISTRY, field: 'registry_context' }, place),
  toAction: (entries: Entries): FreestyleAction => ({
    kind: 'freestyle',
    image: read.text(entries, 'image') ?? '',
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    ...read.when('commands', read.texts(entries, 'commands')),
    ...read.when('cmd', read.line(entries, 'cmd')),
    ...read.when('entryPoint', read.line(entries, 'entry_point')),
    shell: read.text(entries, 'shell') === 'bash' ? 'bash' : 'sh',
    environment: read.environment(entries, 'environment'),
    volumes: read.texts(entries, 'volumes') ?? [],
    ...read.when('registryContext', read.text(entries, 'registry_context')),
    ...read.when('roleArn', read.text(entries, 'role_arn')),
  }),
}
