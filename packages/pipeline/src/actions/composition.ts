/** Step types composition and launch-composition: several containers as one step. */
import type { ComposeSource, CompositionAction, JsonTemplate, LaunchCompositionAction } from '@windlass/plan'
import { checkComposition } from './compose-document.ts'
import { checkRegistryContexts } from '../context/integrations.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { any, either, flag, text } from '../language/shape.ts'
import type { Field, Fields } from '../language/shape.ts'
import { eachText, nameAndValue, refuses } from '../language/step-rules.ts'
import type { ActionPlace, RulePlace, BuiltInStepType } from '../language/step-type.ts'
import { textOf } from '../syntax/tree.ts'
import { registryContexts, variablesField, workingDirectory } from './common-fields.ts'

const composition: Field = {
  shape: either({ kind: 'map', of: any }, text),
  required: true,
  about: 'A compose document, its path relative to the working directory, or the name of a stored composition.',
}

const SHARED: Fields = {
  working_directory: { ...workingDirectory, about: `Directory of the compose file. ${workingDirectory.about}` },
  composition_variables: variablesField,
  registry_contexts: registryContexts,
}

/** Fields of other systems that are accepted but have no effect. */
const TOLERATED: Fields = {
  assets: { shape: any, about: 'Accepted but has no effect.' },
  create_file: { shape: any, about: 'Accepted but has no effect.' },
}

export const compositionType: BuiltInStepType<CompositionAction> = {
  about: 'Runs the services of a compose document until its candidates exit.',
  open: true,
  fields: {
    composition,
    composition_candidates: {
      shape: { kind: 'map', of: { kind: 'map', of: any }, least: 1 },
      required: true,
      aliases: ['composition-candidates'],
      about: 'Services whose exit codes decide the result; merged over services of the same name.',
    },
    ...SHARED,
    add_flow_volume_to_composition: { shape: flag, about: 'True mounts the shared volume in every service; false by default.' },
    environment_name: { shape: any, about: 'Accepted but has no effect.' },
    entry_point: { shape: any, about: 'Accepted but has no effect.' },
    ...TOLERATED,
  },
  rule(entries, place) {
    checkShared(entries, place)
    for (const { key, value } of read.map(entries, 'composition_candidates')?.entries.values() ?? []) {
      const wrong = value.kind === 'map' ? value.entries.get('working_directory') : undefined
      if (wrong === undefined) continue
      place.report.error('not-allowed', wrong.keyRange, '"working_directory" is not allowed. Did you mean "working_dir"?', {
        path: `${place.path}.composition_candidates.${key}.working_directory`,
        hint: 'A candidate has the fields of a compose service.',
        suggestion: { from: 'working_directory', to: 'working_dir' },
      })
    }
  },
  checkContext: checkRegistryContexts,
  toAction: (entries, place): CompositionAction => ({
    kind: 'composition',
    compose: toCompose(entries, place),
    candidates: read.jsonMap(entries, 'composition_candidates'),
    variables: read.texts(entries, 'composition_variables') ?? [],
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    registryContexts: read.texts(entries, 'registry_contexts') ?? [],
    addVolume: read.flag(entries, 'add_flow_volume_to_composition') ?? false,
  }),
}

export const launchComposition: BuiltInStepType<LaunchCompositionAction> = {
  about: 'Starts the services of a compose document as an environment that outlives the build.',
  open: true,
  fields: {
    composition,
    ...SHARED,
    environment_name: {
      shape: text,
      about: 'Name of the environment; the file or step name by default. An existing environment of this name is ended first.',
    },
    entry_point: { shape: text, about: 'Main service, whose address is shown.' },
    ...TOLERATED,
  },
  rule: checkShared,
  checkContext: checkRegistryContexts,
  toAction: (entries, place): LaunchCompositionAction => ({
    kind: 'launch-composition',
    compose: toCompose(entries, place),
    variables: read.texts(entries, 'composition_variables') ?? [],
    ...read.when('workingDirectory', read.text(entries, 'working_directory')),
    registryContexts: read.texts(entries, 'registry_contexts') ?? [],
    ...read.when('environmentName', read.text(entries, 'environment_name')),
    ...read.when('entryPoint', read.text(entries, 'entry_point')),
  }),
}

function checkShared(entries: Entries, place: RulePlace): void {
  const candidates = read.map(entries, 'composition_candidates')
  checkComposition({ written: read.node(entries, 'composition'), candidates, mayBeBare: false }, place)
  refuses(entries, ['registry_context', 'registry_contexts'], place)
  eachText(entries, 'composition_variables', { ...place, problemOf: nameAndValue })
}

/** Returns an inline document, a stored composition by its name, or a path. */
export function toCompose(entries: Entries, { compositions }: ActionPlace): ComposeSource {
  const written = read.node(entries, 'composition')
  const name = textOf(written)
  if (name === undefined) return { inline: written === undefined ? {} : read.json(written) }
  const stored: JsonTemplate | undefined = Object.hasOwn(compositions, name) ? compositions[name] : undefined
  return stored === undefined ? { path: name } : { inline: stored }
}
