/** The pipeline language: the fields of the document and of each step type, as tables. The facts are those of the published language. */
import { STEP_RESULTS } from '@windlass/plan'
import {
  AFTER_STEP,
  CONDITION,
  DEBUG,
  DOCKER_MACHINE,
  ENVIRONMENT_RECORD,
  HOOKS,
  MATRIX,
  PARALLEL,
  SCALE,
  SERVICES,
  steps,
  SUCCESS_CRITERIA,
} from './control-fields.ts'
import { build } from './actions/build.ts'
import { compositionType, launchComposition } from './actions/composition.ts'
import { deploy } from './actions/deploy.ts'
import { integrationTest, simpleTravis, travis } from './actions/facades.ts'
import { freestyle } from './actions/freestyle.ts'
import { gitClone } from './actions/git-clone.ts'
import { pendingApproval } from './actions/pending-approval.ts'
import { push, pushTag } from './actions/push.ts'
import { any, either, flag, optionalText, record, strictFlag, text, texts, word } from './shape.ts'
import type { Fields, Shape } from './shape.ts'
import type { StepType } from './step-type.ts'

export type { StepType } from './step-type.ts'

const stepConditions: Shape = {
  kind: 'list',
  least: 1,
  of: record({
    name: { shape: text, required: true, about: 'The step that is asked about.' },
    on: {
      shape: { kind: 'list', of: word(...STEP_RESULTS), least: 1 },
      about: 'The states that satisfy it; `success` by default.',
    },
  }),
}

/** `when`: all parts that are present must hold. */
export const WHEN: Fields = {
  branch: {
    shape: record({
      only: { shape: texts, about: 'Names or `/regular expressions/`; the step runs when one of them matches the branch.' },
      ignore: { shape: texts, about: 'The step does not run when one of them matches the branch.' },
    }),
    about: 'Runs the step on some branches only.',
  },
  condition: {
    shape: record(CONDITION),
    about: 'Runs the step when expressions are true.',
  },
  steps: {
    shape: either(
      stepConditions,
      record({
        all: { shape: stepConditions, about: 'All of these must hold.' },
        any: { shape: stepConditions, about: 'One of these must hold.' },
      }),
    ),
    about:
      'Runs the step by the results of others. A list, or `all` with one, means all of them; `any` with a list means one of them.',
  },
}

const RETRY: Fields = {
  maxAttempts: {
    shape: { kind: 'number', above: 0, whole: true },
    about: 'Tries in all, the first included: 1 to 10, 1 by default.',
  },
  delay: { shape: { kind: 'number', above: 0 }, about: 'Seconds before the second try: 5 to 60, 5 by default.' },
  exponentialFactor: {
    shape: { kind: 'number', above: 0 },
    about: 'Each pause is the one before to this power: 1 to 5, 1 by default.',
  },
}

/** Fields of every step. The order decides between suggestions that are equally near. */
export const COMMON: Fields = {
  title: { shape: optionalText, about: 'Name for display; the step name by default.' },
  description: { shape: optionalText, about: 'For readers.' },
  stage: { shape: text, about: 'One of the root `stages`; for display only.' },
  fail_fast: {
    shape: flag,
    aliases: ['fail-fast', 'failFast'],
    about: 'False lets the build go on when the step fails; true by default.',
  },
  strict_fail_fast: {
    shape: strictFlag,
    aliases: ['strictFailFast'],
    about: 'With `fail_fast: false`: the build goes on, and fails at its end.',
  },
  when: { shape: record(WHEN), about: 'When the step runs.' },
  retry: { shape: record(RETRY), about: 'How often a step that fails is tried again.' },
  timeout: { shape: any, about: 'A number with `s`, `m` or `h`, such as `90s`; no limit by default.' },
  arguments: { shape: any, about: 'Another place for the fields of the type.' },
  hooks: { shape: record(HOOKS), about: 'Steps before and after the step.' },
  on_success: { shape: record(AFTER_STEP), about: 'Annotations and metadata after success; `hooks` can do more.' },
  on_fail: { shape: record(AFTER_STEP), about: 'Annotations and metadata after a failure; `hooks` can do more.' },
  on_finish: { shape: record(AFTER_STEP), about: 'Annotations and metadata at the end; `hooks` can do more.' },
  scale: SCALE,
  matrix: MATRIX,
  success_criteria: {
    shape: record(SUCCESS_CRITERIA),
    about: 'Of parallel steps, and with `scale` or `matrix`: which of the steps inside decide the result.',
  },
  debug: { shape: record(DEBUG), about: 'Breakpoints; they have no effect but in debug runs.' },
  env: { shape: record(ENVIRONMENT_RECORD), about: 'The deployment environment that a success of the step updates.' },
  docker_machine: { shape: record(DOCKER_MACHINE), about: 'Accepted, and has no effect.' },
  type: { shape: text, about: 'The type of the step; `freestyle` by default.' },
}

/** The step types that this version runs. */
export const STEP_TYPES: Readonly<Record<string, StepType>> = {
  freestyle,
  'git-clone': gitClone,
  build,
  push,
  'push-tag': pushTag,
  composition: compositionType,
  'launch-composition': launchComposition,
  deploy,
  travis,
  simple_travis: simpleTravis,
  'integration-test': integrationTest,
  parallel: { about: 'Runs several steps at the same time.', fields: PARALLEL, open: true },
  'pending-approval': pendingApproval,
}

/** Types that the language has and that are never run, with what to use in their place. */
export const REFUSED_TYPES: Readonly<Record<string, string>> = {
  'freestyle-ssh': 'Use a freestyle step whose image has ssh, with the key in a secret variable.',
  'github-action': 'Use a freestyle step with an image that has the tools of the action, or a typed step.',
  services: 'Write "services" at the root of the document, or on the steps that need them.',
}

/** Root keys of a document that holds the steps themselves. */
export const ROOT: Fields = {
  version: { shape: any, required: true, about: 'Always `1.0`.' },
  steps: { shape: steps, required: true, about: 'The steps by name; in serial mode they run in the order written.' },
  stages: { shape: { kind: 'list', of: text }, about: 'Columns for display, in order.' },
  mode: { shape: word('sequential', 'parallel'), about: '`sequential` by default.' },
  fail_fast: {
    shape: { kind: 'own', as: either(flag, text, { kind: 'record', fields: {}, open: true }) },
    aliases: ['fail-fast', 'failFast'],
    about: 'What steps have that do not say; true by default.',
  },
  strict_fail_fast: {
    shape: strictFlag,
    aliases: ['strictFailFast'],
    about: 'True fails the build at its end when any step failed.',
  },
  build_version: { shape: word('v1', 'v2'), about: 'Rules of build steps; `v2` by default.' },
  indicators: { shape: { kind: 'list', of: any }, about: 'Free space for YAML anchors.' },
  hooks: { shape: record(HOOKS), about: 'Steps before and after the whole build.' },
  services: { shape: record(SERVICES), about: 'Containers that live as long as the build.' },
  success_criteria: { shape: record(SUCCESS_CRITERIA), about: 'Which steps decide the result; any that fails by default.' },
}
