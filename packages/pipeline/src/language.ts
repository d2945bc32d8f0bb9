/** The pipeline language: the fields of the document and of each step type, as tables. The facts are those of the published language. */
import { STEP_RESULTS } from '@windlass/plan'
import { any, either, flag, later, optionalText, record, strictFlag, text, texts, word } from './shape.ts'
import type { Field, Fields, KeyRule, Shape } from './shape.ts'

const LABEL: KeyRule = { pattern: /^[A-Za-z0-9_]+$/, about: 'letters, digits and "_"' }
const expressions: Shape = { kind: 'map', of: text, keys: LABEL }
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
    shape: record({
      all: { shape: expressions, about: 'Labelled expressions that must all be true.' },
      any: { shape: expressions, about: 'Labelled expressions of which one must be true.' },
    }),
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
  hooks: later('Steps before and after the step.'),
  on_success: later('Annotations and metadata after success.', 'warning'),
  on_fail: later('Annotations and metadata after a failure.', 'warning'),
  on_finish: later('Annotations and metadata at the end.', 'warning'),
  scale: later('Makes several steps of one.'),
  matrix: later('Makes a step for each combination of values.'),
  debug: later('Breakpoints of debug runs.', 'warning'),
  env: later('A record of a deployment environment.', 'warning'),
  docker_machine: later('Where the daemon runs; has no meaning here.', 'warning'),
  type: { shape: text, about: 'The type of the step; `freestyle` by default.' },
}

const workingDirectory: Field = {
  shape: text,
  aliases: ['working-directory'],
  about: 'Absolute, relative, or `${{step}}`; the folder of `main_clone`, else the shared volume by default.',
}
const credentials: Field = {
  shape: record({
    username: { shape: text, required: true, about: 'User name.' },
    password: { shape: text, required: true, about: 'Password or token; use a variable.' },
  }),
  about: 'Used in place of the integration’s own.',
}
const commandLine: Shape = either({ kind: 'list', of: optionalText }, text)

const FREESTYLE: Fields = {
  image: { shape: text, required: true, about: 'Image of the container: a reference, or `${{step}}` of a build or push step.' },
  working_directory: { ...workingDirectory, about: `${workingDirectory.about} \`IMAGE_WORK_DIR\` is the image’s own.` },
  commands: { shape: { kind: 'list', of: optionalText }, about: 'Run by the shell in place of the entry point, with `set -e`.' },
  cmd: { shape: commandLine, about: 'Arguments for the entry point.' },
  entry_point: { shape: commandLine, about: 'In place of the image’s entry point.' },
  shell: { shape: word('sh', 'bash'), about: 'The shell for `commands`; `sh` by default.' },
  environment: {
    shape: { kind: 'list', of: text, hint: 'Write a list of NAME=VALUE entries: `- NAME=VALUE`.' },
    about: 'List of `NAME=VALUE`.',
  },
  volumes: {
    shape: { kind: 'list', of: text },
    about: 'List of `source:/target[:ro]`; the source is below the shared volume.',
  },
  registry_context: { shape: text, about: 'The registry integration to pull the image with.' },
  services: later('Containers beside the step.'),
  role_arn: later('Cross-account pulls from ECR.'),
}

const GIT_CLONE: Fields = {
  repo: { shape: text, required: true, about: '`owner/name`, or the URL of a repository.' },
  revision: { shape: text, about: 'Branch, tag or commit; the repository’s default branch by default.' },
  git: { shape: text, about: 'The git integration; the default one by default.' },
  working_directory: { ...workingDirectory, about: 'The folder that the clone is put in; the shared volume by default.' },
  credentials,
  use_proxy: { shape: flag, about: 'Honours HTTP_PROXY and HTTPS_PROXY of the build; false by default.' },
  depth: { shape: { kind: 'number', above: 0, whole: true }, about: 'Number of commits to fetch; all by default.' },
  exclude_blobs: { shape: flag, aliases: ['exclude_blob'], about: 'Leaves out the contents of old commits; false by default.' },
  skip_tags_on_update: { shape: flag, about: 'Fetches no tags when a clone is there already; false by default.' },
}

const BUILD: Fields = {
  image_name: { shape: text, required: true, aliases: ['image-name'], about: 'Name of the image, without host and tag.' },
  tag: { shape: text, about: 'One tag; the normalized branch by default.' },
  tags: { shape: { kind: 'list', of: text }, about: 'Several tags.' },
  tag_policy: { shape: word('original', 'lowercase'), aliases: ['tag-policy'], about: 'Case of tags; `lowercase` by default.' },
  dockerfile: {
    shape: either(text, record({ content: { shape: text, required: true, about: 'The Dockerfile itself.' } })),
    about: 'Path below the working directory; `Dockerfile` by default.',
  },
  working_directory: { ...workingDirectory, about: `The build context. ${workingDirectory.about}` },
  build_arguments: { shape: texts, aliases: ['build-arguments'], about: 'List of `NAME=VALUE`.' },
  target: { shape: text, about: 'The stage to stop at.' },
  no_cache: { shape: flag, about: 'Builds every layer anew; false by default.' },
  no_cf_cache: { shape: flag, about: 'Does not look for layers in earlier images; false by default.' },
  cache_from: { shape: texts, about: 'Images or caches to take layers from.' },
  registry: { shape: text, about: 'The registry integration to push to; the default one by default.' },
  registry_contexts: { shape: texts, about: 'Registry integrations to pull base images with.' },
  disable_push: { shape: flag, about: 'True keeps the image on the build’s own daemon.' },
  buildkit: { shape: flag, about: 'Builds with BuildKit; false by default.' },
  progress: { shape: word('auto', 'quiet', 'plain', 'tty', 'rawjson'), about: 'How BuildKit writes its log; turns BuildKit on.' },
  squash: later('Makes one layer of all.'),
  cache_to: later('Where BuildKit puts its cache.'),
  secrets: later('BuildKit secrets.'),
  ssh: later('BuildKit ssh agents.'),
  buildx: later('Builds with buildx.'),
  platform: later('Platforms to build for; needs `buildx`.'),
  provider: later('Builds elsewhere.'),
  region: later('Region of ECR.'),
  role_arn: later('Role for ECR.'),
  aws_session_name: later('Session name for ECR.'),
  aws_duration_seconds: later('Length of the ECR session.'),
  cosign: later('Signs the image.'),
  metadata: later('Metadata of the image.', 'warning'),
  annotations: later('Annotations of the build.', 'warning'),
}

const PUSH: Fields = {
  candidate: { shape: text, required: true, about: 'The image: a reference, or `${{step}}` of a build step.' },
  registry: { shape: text, about: 'The registry integration, or a host; the default one by default.' },
  image_name: { shape: text, aliases: ['image-name'], about: 'Name to push as; the candidate’s by default.' },
  tag: { shape: text, about: 'One tag; `latest` by default.' },
  tags: { shape: { kind: 'list', of: text }, about: 'Several tags.' },
  registry_context: { shape: text, about: 'The registry integration to pull the candidate with.' },
  credentials,
  provider: later('Kind of the registry; found by itself.', 'warning'),
  accessKeyId: later('ECR key.'),
  secretAccessKey: later('ECR key.'),
  region: later('Region of ECR.'),
  role_arn: later('Role for ECR.'),
  aws_session_name: later('Session name for ECR.'),
  aws_duration_seconds: later('Length of the ECR session.'),
}

export interface StepType {
  readonly about: string
  readonly fields: Fields
  /** Unknown fields are let pass. */
  readonly open: boolean
}

/** The step types that this version runs. */
export const STEP_TYPES: Readonly<Record<string, StepType>> = {
  freestyle: { about: 'Runs a container of any image.', fields: FREESTYLE, open: true },
  'git-clone': { about: 'Clones a git repository to the shared volume.', fields: GIT_CLONE, open: false },
  build: { about: 'Builds an image from a Dockerfile and pushes it.', fields: BUILD, open: false },
  push: { about: 'Tags an image and pushes it to a registry.', fields: PUSH, open: false },
}

/** Types that the language has and this version does not run. */
export const LATER_TYPES = [
  'composition',
  'deploy',
  'freestyle-ssh',
  'github-action',
  'integration-test',
  'launch-composition',
  'parallel',
  'pending-approval',
  'push-tag',
  'services',
  'simple_travis',
  'travis',
] as const

/** Root keys of a document that holds the steps themselves. */
export const ROOT: Fields = {
  version: { shape: any, required: true, about: 'Always `1.0`.' },
  steps: { shape: any, required: true, about: 'The steps by name; in serial mode they run in the order written.' },
  stages: { shape: { kind: 'list', of: text }, about: 'Columns for display, in order.' },
  mode: { shape: word('sequential', 'parallel'), about: '`sequential` by default.' },
  fail_fast: { shape: flag, about: 'What steps have that do not say; true by default.' },
  strict_fail_fast: { shape: strictFlag, about: 'True fails the build at its end when any step failed.' },
  build_version: { shape: word('v1', 'v2'), about: 'Rules of build steps; `v2` by default.' },
  indicators: { shape: { kind: 'list', of: any }, about: 'Free space for YAML anchors.' },
  hooks: later('Steps before and after the whole build.'),
  services: later('Containers that live as long as the build.'),
  success_criteria: later('Which steps decide the result.'),
}
