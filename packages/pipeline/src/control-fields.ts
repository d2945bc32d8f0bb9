/** What groups, hooks, services, breakpoints and the like may hold, as tables. */
import { ANNOTATED_ENTITIES, HOOK_MOMENTS } from '@windlass/plan'
import { any, either, flag, optionalText, record, strictFlag, text, texts, word } from './shape.ts'
import type { Field, Fields, KeyRule, Shape } from './shape.ts'

export const LABEL: KeyRule = { pattern: /^[A-Za-z0-9_]+$/, about: 'letters, digits and "_"' }
export const expressions: Shape = { kind: 'map', of: text, keys: LABEL }

/** Labelled expressions, all or any of which must be true. */
export const CONDITION: Fields = {
  all: { shape: expressions, about: 'Labelled expressions that must all be true.' },
  any: { shape: expressions, about: 'Labelled expressions of which one must be true.' },
}

const names: Shape = { kind: 'list', of: text, least: 1 }

export const SUCCESS_CRITERIA: Fields = {
  steps: {
    shape: either(
      names,
      record({
        only: { shape: names, about: 'Only these steps count.' },
        ignore: { shape: names, about: 'All steps but these count.' },
      }),
    ),
    about: 'The steps that decide the result. A list means only these.',
  },
  condition: { shape: record(CONDITION), about: 'Expressions that decide the result, such as `steps.one.result == "success"`.' },
}

export const steps: Shape = { kind: 'own', as: { kind: 'map', of: { kind: 'step' }, least: 1 } }

export const APPROVAL: Fields = {
  timeout: {
    shape: record({
      duration: { shape: { kind: 'number', above: 0 }, about: 'How long to wait; 168 by default.' },
      timeUnit: { shape: word('hours', 'minutes'), about: '`hours` by default.' },
      finalState: {
        shape: word('approved', 'denied', 'terminated'),
        about: 'What it counts as when nobody decides; `terminated` by default.',
      },
    }),
    about: 'How long to wait for a decision, and what then.',
  },
}

/** An entry: a name, or a name with its value. */
const entryValue: Shape = {
  kind: 'own',
  as: either(record({ evaluate: { shape: text, required: true, about: 'An expression that gives the value.' } }), {
    kind: 'plain',
  }),
}
const entries: Shape = {
  kind: 'list',
  of: { kind: 'own', as: either(text, { kind: 'map', of: entryValue, keys: LABEL, least: 1 }) },
}
const entity: Fields = {
  entity_id: { shape: text, about: 'Name or id; what the build itself belongs to by default.' },
  entity_type: {
    shape: word(...ANNOTATED_ENTITIES, 'workflow'),
    about: '`build` by default; `workflow` is another word for it.',
  },
}

/** `annotations` of hooks, of steps after their end, and of build steps. */
export const ANNOTATIONS: Fields = {
  set: {
    shape: {
      kind: 'list',
      of: record({
        ...entity,
        annotations: { shape: entries, required: true, about: 'Names, or names with values.' },
        display: { shape: text, about: 'The annotation that lists of builds show.' },
      }),
    },
    about: 'Annotations to write.',
  },
  unset: {
    shape: {
      kind: 'list',
      of: record({
        ...entity,
        annotations: { shape: { kind: 'list', of: text }, required: true, about: 'Names of annotations.' },
      }),
    },
    about: 'Annotations to remove.',
  },
}

/** `metadata` of hooks and of steps after their end. */
const METADATA_OF_IMAGES: Fields = {
  set: {
    shape: { kind: 'list', of: { kind: 'map', of: entries, least: 1 } },
    about: 'Image -> list of metadata, such as `- ${{build.imageId}}: [- TESTED: true]`.',
  },
}

/** `metadata` of build steps. */
export const METADATA_OF_BUILD: Fields = {
  set: { shape: entries, about: 'Metadata of the image.' },
}

export const AFTER_STEP: Fields = {
  metadata: { shape: record(METADATA_OF_IMAGES), about: 'Metadata of images.' },
  annotations: { shape: record(ANNOTATIONS), about: 'Annotations of the build, its pipeline, its project or an image.' },
}

/** A hook of several steps. */
export const HOOK_STEPS: Fields = {
  steps: { shape: steps, required: true, about: 'The steps of the hook, by name.' },
  mode: { shape: word('sequential', 'parallel'), about: '`sequential` by default.' },
  fail_fast: { shape: flag, aliases: ['fail-fast', 'failFast'], about: 'False lets the hook go on when a step of it fails.' },
  strict_fail_fast: {
    shape: strictFlag,
    aliases: ['strictFailFast'],
    about: 'With `fail_fast: false`: the hook goes on, and fails at its end.',
  },
}

const hookBody: readonly Shape[] = [{ kind: 'list', of: optionalText }, record(HOOK_STEPS), { kind: 'step' }]

/** A hook with `exec`, or with metadata and annotations alone. */
export const HOOK_EXEC: Fields = {
  exec: {
    shape: { kind: 'own', as: either(...hookBody) },
    about: 'Commands, a step, or several steps.',
  },
  ...AFTER_STEP,
}

const ABOUT_MOMENTS = {
  on_elected: 'Before everything else.',
  on_success: 'After success.',
  on_fail: 'After a failure.',
  on_finish: 'At the end, whatever happened.',
} as const

export const HOOKS: Fields = Object.fromEntries(
  HOOK_MOMENTS.map((moment): [string, Field] => [
    moment,
    { shape: { kind: 'own', as: either(...hookBody, record(HOOK_EXEC)) }, about: ABOUT_MOMENTS[moment] },
  ]),
)

/** Fields that steps of hooks may not have. */
export const NOT_IN_HOOKS = ['debug', 'hooks', 'stage', 'on_start', 'on_success', 'on_fail', 'on_finish'] as const

const READINESS: Fields = {
  image: { shape: text, required: true, about: 'Image that the commands run in.' },
  commands: { shape: { kind: 'list', of: optionalText, least: 1 }, required: true, about: 'Run until they succeed.' },
  periodSeconds: { shape: { kind: 'number', least: 1 }, about: 'Pause between two tries; 10 by default.' },
  timeoutSeconds: { shape: { kind: 'number', least: 1 }, about: 'Time limit of one try; 10 by default.' },
  successThreshold: { shape: { kind: 'number', least: 1, most: 1 }, about: 'Always 1.' },
  initialDelaySeconds: {
    shape: { kind: 'number', least: 0 },
    about: 'As long more tries are made; the first one is made at once all the same.',
  },
  failureThreshold: {
    shape: { kind: 'number', least: 1, whole: true },
    about: 'Tries before the services count as failed; 3 by default.',
  },
}

export const SERVICES: Fields = {
  name: { shape: text, about: 'The name under which steps list the services.' },
  version: { shape: any, about: 'Version of the compose format; any is understood.' },
  composition: {
    shape: either({ kind: 'map', of: any }, text),
    required: true,
    about: 'The services as in a compose file, the name of a stored composition, or the path of a compose file.',
  },
  composition_variables: {
    shape: either(texts, { kind: 'map', of: any }),
    about: 'List of `NAME=VALUE`, or an object, for `${NAME}` in the compose document.',
  },
  readiness: { shape: record(READINESS), about: 'How to find out that the services can be used.' },
  setup: {
    shape: record({
      image: { shape: text, required: true, about: 'Image that the commands run in.' },
      commands: { shape: { kind: 'list', of: optionalText, least: 1 }, required: true, about: 'Run once, before the steps.' },
    }),
    about: 'Preparation once the services are ready.',
  },
  shared_host_network: { shape: flag, about: 'True makes the services reachable as `localhost`; false by default.' },
}

/** `services` of a step: its own, or the names of root services. */
export const STEP_SERVICES: Field = {
  shape: either({ kind: 'list', of: text }, record(SERVICES)),
  about: 'Containers beside the step, or a list of names of root services.',
}

export const PARALLEL: Fields = {
  steps: { shape: steps, required: true, about: 'The steps that start together, by name.' },
  success_criteria: {
    shape: record(SUCCESS_CRITERIA),
    about: 'Which of the steps decide the result; any that fails by default.',
  },
  services: STEP_SERVICES,
  timeout: { shape: any, about: 'The time limit of each step inside that has none of its own.' },
}

const phases: Shape = record({
  before: { shape: flag, about: 'Stops before the step.' },
  override: { shape: flag, about: 'Gives a shell in place of the commands; freestyle steps only.' },
  after: { shape: flag, about: 'Stops after the step.' },
})

/** `debug` of a step, and of each step in `spec.debug.steps`. */
export const DEBUG: Fields = { phases: { shape: phases, about: 'Where debug runs stop.' } }

export const ENVIRONMENT_RECORD: Fields = {
  name: { shape: text, required: true, about: 'Name of the environment.' },
  type: { shape: word('kubernetes', 'helm-release'), about: '`kubernetes` by default.' },
  change: { shape: optionalText, about: 'What changed.' },
  endpoints: {
    shape: {
      kind: 'list',
      of: record({
        name: { shape: text, required: true, about: 'Name of the endpoint.' },
        url: { shape: text, required: true, about: 'Where it is.' },
      }),
    },
    about: 'Addresses of what was deployed.',
  },
  filters: {
    shape: {
      kind: 'list',
      of: record({
        cluster: { shape: text, about: 'Name of the cluster.' },
        namespace: { shape: text, about: 'Namespace.' },
        releaseName: { shape: text, about: 'Helm release.' },
        selectors: { shape: { kind: 'list', of: any }, about: 'Labels.' },
      }),
    },
    about: 'What in the cluster belongs to the environment.',
  },
}

export const DOCKER_MACHINE: Fields = {
  create: { shape: record({ provider: { shape: text, about: 'Has no effect.' } }), about: 'Has no effect.' },
  use: { shape: record({ node: { shape: text, about: 'Has no effect.' } }), about: 'Has no effect.' },
}

export const SCALE: Field = {
  shape: { kind: 'own', as: { kind: 'map', of: any, least: 1 } },
  about: 'Makes several steps of this one: their names, each with the fields in which it differs.',
}

export const MATRIX: Field = {
  shape: { kind: 'own', as: { kind: 'map', of: { kind: 'list', of: any, least: 1 }, least: 1 } },
  about: 'Makes a step for each combination of values: fields of the step, each with a list of values.',
}
