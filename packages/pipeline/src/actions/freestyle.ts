/** Steps of type freestyle: a container of any image (pipeline language 2.2). */
import type { FreestyleAction } from '@windlass/plan'
import { STEP_SERVICES } from '../control-fields.ts'
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { optionalText, text, word } from '../shape.ts'
import { eachText, excludes, nameAndValue, refuses } from '../step-rules.ts'
import type { StepType } from '../step-type.ts'
import { checkRole } from './aws.ts'
import { commandLine, environment, workingDirectory } from './common-fields.ts'

export const freestyle: StepType = {
  about: 'Runs a container of any image.',
  open: true,
  fields: {
    image: { shape: text, required: true, about: 'Image of the container: a reference, or `${{step}}` of a build or push step.' },
    working_directory: { ...workingDirectory, about: `${workingDirectory.about} \`IMAGE_WORK_DIR\` is the image’s own.` },
    commands: {
      shape: { kind: 'list', of: optionalText },
      about: 'Run by the shell in place of the entry point, with `set -e`.',
    },
    cmd: { shape: commandLine, about: 'Arguments for the entry point.' },
    entry_point: { shape: commandLine, about: 'In place of the image’s entry point.' },
    shell: { shape: word('sh', 'bash'), about: 'The shell for `commands`; `sh` by default.' },
    environment: { shape: environment, about: 'List of `NAME=VALUE`, or a mapping of names to values.' },
    volumes: {
      shape: { kind: 'list', of: text },
      about: 'List of `source:/target[:ro]`; the source is below the shared volume.',
    },
    registry_context: { shape: text, about: 'The registry integration to pull the image with.' },
    role_arn: { shape: text, about: 'Role to pull from an ECR registry of another account; needs `registry_context`.' },
    services: STEP_SERVICES,
  },
  rule(entries, place) {
    excludes(entries, ['commands', 'cmd'], place)
    excludes(entries, ['shell', 'cmd'], place)
    eachText(entries, 'environment', { ...place, problemOf: nameAndValue })
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
        hint: 'Name the registry integration that the image is pulled with.',
      })
  },
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
