/** Field tables of the document and of every step, compatible with the Codefresh language. Those of each step type are in `actions/`. */
import { STEP_RESULTS } from '@windlass/plan'
import {
  AFTER_STEP,
  CONDITION,
  DEBUG,
  DOCKER_MACHINE,
  ENVIRONMENT_RECORD,
  HOOKS,
  MATRIX,
  SCALE,
  SERVICES,
  steps,
  SUCCESS_CRITERIA,
} from './control-fields.ts'
import { any, either, flag, optionalText, record, strictFlag, text, texts, word } from './shape.ts'
import type { Fields, Shape } from './shape.ts'

const stepConditions: Shape = {
  kind: 'list',
  least: 1,
  of: record({
    name: { shape: text, required: true, about: 'Name of the other step.' },
    on: {
      shape: { kind: 'list', of: word(...STEP_RESULTS), least: 1 },
      about: 'Accepted results of that step; `success` by default.',
    },
  }),
}

/** `when`: all parts that are present must hold. */
export const WHEN: Fields = {
  branch: {
    shape: record({
      only: { shape: texts, about: 'Names or `/regular expressions/`; the step runs only if one of them matches the branch.' },
      ignore: {
        shape: texts,
        about: 'Names or `/regular expressions/`; the step does not run if one of them matches the branch.',
      },
    }),
    about: 'Branches on which the step runs.',
  },
  condition: {
    shape: record(CONDITION),
    about: 'Expressions that decide whether the step runs.',
  },
  steps: {
    shape: either(
      stepConditions,
      record({
        all: { shape: stepConditions, about: 'All of these must hold.' },
        any: { shape: stepConditions, about: 'At least one of these must hold.' },
      }),
    ),
    about:
      'Results of other steps that decide whether the step runs. A list, or a list in `all`: all must match. A list in `any`: at least one must match.',
  },
}

const RETRY: Fields = {
  maxAttempts: {
    shape: { kind: 'number', above: 0, whole: true },
    about: 'Maximum number of tries including the first: 1 to 10, 1 by default.',
  },
  delay: { shape: { kind: 'number', above: 0 }, about: 'Seconds before the second try: 5 to 60, 5 by default.' },
  exponentialFactor: {
    shape: { kind: 'number', above: 0 },
    about: 'Each delay is the previous one to the power of this number: 1 to 5, 1 by default.',
  },
}

/** Fields of every step. The order breaks ties between suggestions. */
export const COMMON: Fields = {
  title: { shape: optionalText, about: 'Display name; the step name by default.' },
  description: { shape: optionalText, about: 'Description.' },
  stage: { shape: text, about: 'One of the root `stages`; for display only.' },
  fail_fast: {
    shape: flag,
    aliases: ['fail-fast', 'failFast'],
    about: 'False lets the build continue if the step fails; true by default.',
  },
  strict_fail_fast: {
    shape: strictFlag,
    aliases: ['strictFailFast'],
    about: 'With `fail_fast: false`: the build continues and fails at its end.',
  },
  when: { shape: record(WHEN), about: 'Conditions under which the step runs.' },
  retry: { shape: record(RETRY), about: 'Retries of a failed step.' },
  timeout: { shape: any, about: 'Timeout: a number with `s`, `m` or `h`, such as `90s`; no limit by default.' },
  arguments: { shape: any, about: 'Alternative place for the fields of the step type.' },
  hooks: { shape: record(HOOKS), about: 'Steps that run before and after the step.' },
  on_success: { shape: record(AFTER_STEP), about: 'Annotations and metadata after success; `hooks` can do more.' },
  on_fail: { shape: record(AFTER_STEP), about: 'Annotations and metadata after a failure; `hooks` can do more.' },
  on_finish: { shape: record(AFTER_STEP), about: 'Annotations and metadata at the end; `hooks` can do more.' },
  scale: SCALE,
  matrix: MATRIX,
  success_criteria: {
    shape: record(SUCCESS_CRITERIA),
    about: 'For parallel steps, `scale` and `matrix`: the steps inside that decide the result.',
  },
  debug: { shape: record(DEBUG), about: 'Breakpoints for debug runs.' },
  env: { shape: record(ENVIRONMENT_RECORD), about: 'Deployment environment that is updated when the step succeeds.' },
  docker_machine: { shape: record(DOCKER_MACHINE), about: 'Accepted but has no effect.' },
  type: { shape: text, about: 'Step type; `freestyle` by default.' },
}

/** Root keys of a document that contains the steps. */
export const ROOT: Fields = {
  version: { shape: any, required: true, about: 'Always `1.0`.' },
  steps: { shape: steps, required: true, about: 'Steps by name; in sequential mode they run in document order.' },
  stages: { shape: { kind: 'list', of: text }, about: 'Stages for display, in order.' },
  mode: { shape: word('sequential', 'parallel'), about: '`sequential` by default.' },
  fail_fast: {
    shape: { kind: 'own', as: either(flag, text, { kind: 'record', fields: {}, open: true }) },
    aliases: ['fail-fast', 'failFast'],
    about: 'Default of `fail_fast` for all steps; true by default.',
  },
  strict_fail_fast: {
    shape: strictFlag,
    aliases: ['strictFailFast'],
    about: 'True fails the build at its end if any step failed.',
  },
  build_version: { shape: word('v1', 'v2'), about: 'Rule set for build steps; `v2` by default.' },
  indicators: { shape: { kind: 'list', of: any }, about: 'Place for YAML anchors.' },
  hooks: { shape: record(HOOKS), about: 'Steps that run before and after the build.' },
  services: { shape: record(SERVICES), about: 'Service containers of the whole build.' },
  success_criteria: { shape: record(SUCCESS_CRITERIA), about: 'Steps that decide the result; all by default.' },
}
