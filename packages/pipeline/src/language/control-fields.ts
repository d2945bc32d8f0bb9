/** Field tables of groups, hooks, services, breakpoints and similar parts. */
import { ANNOTATED_ENTITIES, HOOK_MOMENTS } from '@windlass/plan'
import { any, either, flag, optionalText, record, strictFlag, text, texts, word } from './shape.ts'
import type { Field, Fields, KeyRule, Shape } from './shape.ts'

export const LABEL: KeyRule = { pattern: /^[A-Za-z0-9_]+$/, about: 'letters, digits and "_"' }
export const expressions: Shape = { kind: 'map', of: text, keys: LABEL }

/** Labeled expressions, of which all or any must be true. */
export const CONDITION: Fields = {
  all: { shape: expressions, about: 'Labeled expressions that must all be true.' },
  any: { shape: expressions, about: 'Labeled expressions of which at least one must be true.' },
}

const names: Shape = { kind: 'list', of: text, least: 1 }

export const SUCCESS_CRITERIA: Fields = {
  steps: {
    shape: either(
      names,
      record({
        only: { shape: names, about: 'Steps that count.' },
        ignore: { shape: names, about: 'Steps that do not count.' },
      }),
    ),
    about: 'Steps that decide the result. A list means only these.',
  },
  condition: { shape: record(CONDITION), about: 'Expressions that decide the result, such as `steps.one.result == "success"`.' },
}

export const steps: Shape = { kind: 'own', as: { kind: 'map', of: { kind: 'step' }, least: 1 } }
/** Steps of a parallel step may also be a list: of mappings with one step each, or of steps without names. */
const stepsInside: Shape = {
  kind: 'own',
  as: either(
    { kind: 'map', of: { kind: 'step' }, least: 1 },
    { kind: 'list', of: either({ kind: 'step' }, { kind: 'map', of: { kind: 'step' }, least: 1 }), least: 1 },
  ),
}

export const APPROVAL: Fields = {
  timeout: {
    shape: record({
      duration: { shape: { kind: 'number', above: 0 }, about: 'How long to wait; 168 by default.' },
      timeUnit: { shape: word('hours', 'minutes'), about: '`hours` by default.' },
      finalState: {
        shape: word('approved', 'denied', 'terminated'),
        about: 'Result if there is no decision in time; `terminated` by default.',
      },
    }),
    about: 'How long to wait for a decision, and the result after that.',
  },
}

/** An annotation: a name, or a name with its value. */
const entryValue: Shape = {
  kind: 'own',
  as: either(record({ evaluate: { shape: text, required: true, about: 'Expression whose result is the value.' } }), {
    kind: 'plain',
  }),
}
const entries: Shape = {
  kind: 'list',
  of: { kind: 'own', as: either(text, { kind: 'map', of: entryValue, keys: LABEL, least: 1 }) },
}
const entity: Fields = {
  entity_id: { shape: text, about: 'Name or id. Default: the build, or the pipeline or project of the build.' },
  entity_type: {
    shape: word(...ANNOTATED_ENTITIES, 'workflow'),
    about: '`build` by default; `workflow` is an alias.',
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
        display: { shape: text, about: 'The annotation that build lists show.' },
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
  annotations: { shape: record(ANNOTATIONS), about: 'Annotations of the build, pipeline, project or an image.' },
}

/** A hook of several steps. */
export const HOOK_STEPS: Fields = {
  steps: { shape: steps, required: true, about: 'Steps of the hook by name.' },
  mode: { shape: word('sequential', 'parallel'), about: '`sequential` by default.' },
  fail_fast: {
    shape: flag,
    aliases: ['fail-fast', 'failFast'],
    about: 'False lets the hook continue if one of its steps fails.',
  },
  strict_fail_fast: {
    shape: strictFlag,
    aliases: ['strictFailFast'],
    about: 'With `fail_fast: false`: the hook continues and fails at its end.',
  },
}

const hookBody: readonly Shape[] = [{ kind: 'list', of: optionalText }, record(HOOK_STEPS), { kind: 'step' }]

/** A hook with `exec`, or with only metadata and annotations. */
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
  on_finish: 'At the end in any case.',
} as const

export const HOOKS: Fields = Object.fromEntries(
  HOOK_MOMENTS.map((moment): [string, Field] => [
    moment,
    { shape: { kind: 'own', as: either(...hookBody, record(HOOK_EXEC)) }, about: ABOUT_MOMENTS[moment] },
  ]),
)

/** Fields that are not allowed on steps of hooks. */
export const NOT_IN_HOOKS = ['debug', 'hooks', 'stage', 'on_start', 'on_success', 'on_fail', 'on_finish'] as const

const READINESS: Fields = {
  image: { shape: text, required: true, about: 'Image for the commands.' },
  commands: {
    shape: { kind: 'list', of: optionalText, least: 1 },
    required: true,
    about: 'Commands that are repeated until they succeed.',
  },
  periodSeconds: { shape: { kind: 'number', least: 1 }, about: 'Seconds between two checks; 10 by default.' },
  timeoutSeconds: { shape: { kind: 'number', least: 1 }, about: 'Timeout of one check in seconds; 10 by default.' },
  successThreshold: { shape: { kind: 'number', least: 1, most: 1 }, about: 'Always 1.' },
  initialDelaySeconds: {
    shape: { kind: 'number', least: 0 },
    about: 'Extra seconds of checks before the services count as failed. The first check still runs at once.',
  },
  failureThreshold: {
    shape: { kind: 'number', least: 1, whole: true },
    about: 'Failed checks before the services count as failed; 3 by default.',
  },
}

export const SERVICES: Fields = {
  name: { shape: text, about: 'Name by which steps refer to the services.' },
  version: { shape: any, about: 'Version of the compose format; any version is accepted.' },
  composition: {
    shape: either({ kind: 'map', of: any }, text),
    required: true,
    about: 'The services as in a compose file, the name of a stored composition, or the path of a compose file.',
  },
  composition_variables: {
    shape: either(texts, { kind: 'map', of: any }),
    about: 'List of `NAME=VALUE`, or an object, for `${NAME}` in the compose document.',
  },
  readiness: { shape: record(READINESS), about: 'Check that the services are ready.' },
  setup: {
    shape: record({
      image: { shape: text, required: true, about: 'Image for the commands.' },
      commands: {
        shape: { kind: 'list', of: optionalText, least: 1 },
        required: true,
        about: 'Commands that run once before the steps.',
      },
    }),
    about: 'Setup that runs once the services are ready.',
  },
  shared_host_network: { shape: flag, about: 'True makes the services reachable as `localhost`; false by default.' },
}

/** `services` of a step: its own, or names of root services. */
export const STEP_SERVICES: Field = {
  shape: either({ kind: 'list', of: text }, record(SERVICES)),
  about: 'Service containers of the step, or a list of names of root services.',
}

export const PARALLEL: Fields = {
  steps: { shape: stepsInside, required: true, about: 'Steps that start together, by name.' },
  success_criteria: {
    shape: record(SUCCESS_CRITERIA),
    about: 'Steps that decide the result; all by default.',
  },
  services: STEP_SERVICES,
  timeout: { shape: any, about: 'Timeout of each step inside that has no timeout itself.' },
}

const phases: Shape = record({
  before: { shape: flag, about: 'Stops before the step.' },
  override: { shape: flag, about: 'Opens a shell instead of the commands; freestyle steps only.' },
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
        url: { shape: text, required: true, about: 'URL of the endpoint.' },
      }),
    },
    about: 'Endpoints of the deployment.',
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
    about: 'Resources of the cluster that belong to the environment.',
  },
}

export const DOCKER_MACHINE: Fields = {
  create: { shape: record({ provider: { shape: text, about: 'Has no effect.' } }), about: 'Has no effect.' },
  use: { shape: record({ node: { shape: text, about: 'Has no effect.' } }), about: 'Has no effect.' },
}

export const SCALE: Field = {
  shape: { kind: 'own', as: { kind: 'map', of: any, least: 1 } },
  about: 'Creates several steps from this one: step names, each with the fields that differ.',
}

export const MATRIX: Field = {
  shape: { kind: 'own', as: { kind: 'map', of: { kind: 'list', of: any, least: 1 }, least: 1 } },
  about: 'Creates a step for each combination of values: fields of the step, each with a list of values.',
}
