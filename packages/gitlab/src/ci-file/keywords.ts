/** The keywords of jobs of GitLab, and what a local run does with each. Messages follow this table. */

/** `run`: has its effect. `none`: has no effect, with what that means. `error`: the job cannot be run. */
export type KeywordUse =
  | { readonly use: 'run' }
  | { readonly use: 'none'; readonly meaning: string }
  | { readonly use: 'error'; readonly message: string; readonly hint: string }

const RUN: KeywordUse = { use: 'run' }
const none = (meaning: string): KeywordUse => ({ use: 'none', meaning })

const ALWAYS_RUNS = 'the job runs'
const FROM_JOBS = 'no other job runs before it, and the artifacts of other jobs are missing'
const SET_VARIABLE = 'its variables are missing; set them with --env or --secret'

export const KEYWORDS: Readonly<Record<string, KeywordUse>> = {
  after_script: RUN,
  allow_failure: RUN,
  artifacts: RUN,
  before_script: RUN,
  cache: RUN,
  extends: RUN,
  image: RUN,
  inherit: RUN,
  script: RUN,
  services: RUN,
  stage: RUN,
  timeout: RUN,
  variables: RUN,
  coverage: none('no coverage is read from the log'),
  dast_configuration: none(ALWAYS_RUNS),
  dependencies: none(FROM_JOBS),
  environment: none('nothing is deployed to an environment, and its variables are missing'),
  except: none(ALWAYS_RUNS),
  hooks: none('its scripts do not run'),
  id_tokens: none(SET_VARIABLE),
  identity: none('the job has no identity in a cloud'),
  interruptible: none(ALWAYS_RUNS),
  manual_confirmation: none(ALWAYS_RUNS),
  needs: none(FROM_JOBS),
  only: none(ALWAYS_RUNS),
  pages: none('nothing is published'),
  parallel: none('the job runs once; set the variables of a matrix with --env'),
  publish: none('nothing is published'),
  release: none('no release is created'),
  resource_group: none(ALWAYS_RUNS),
  retry: none('the job runs once'),
  rules: none('the job runs, without variables of rules'),
  secrets: none(SET_VARIABLE),
  start_in: none(ALWAYS_RUNS),
  tags: none('the job runs on this machine'),
  when: none(ALWAYS_RUNS),
  run: {
    use: 'error',
    message: 'has `run` with CI steps, which a local run does not have',
    hint: 'Use `script`.',
  },
  trigger: {
    use: 'error',
    message: 'starts another pipeline with `trigger`, which needs a GitLab server',
    hint: 'Run the jobs of that pipeline in its own repository.',
  },
}

/** Keywords of a job that `default` sets for jobs without them. */
export const DEFAULTS = [
  'after_script',
  'artifacts',
  'before_script',
  'cache',
  'hooks',
  'id_tokens',
  'identity',
  'image',
  'interruptible',
  'retry',
  'services',
  'tags',
  'timeout',
] as const

/** Keywords outside of jobs. Some are the older form of those in `default`. */
export const GLOBALS: readonly string[] = [
  'after_script',
  'before_script',
  'cache',
  'default',
  'image',
  'include',
  'services',
  'spec',
  'stages',
  'types',
  'variables',
  'workflow',
]

/** Fields of `image` and of a service. */
export const IMAGE_FIELDS: Readonly<Record<string, KeywordUse>> = {
  name: RUN,
  entrypoint: RUN,
  docker: RUN,
  pull_policy: RUN,
  kubernetes: none('the settings of a cluster are not used'),
  ports: none('no port is opened for a web page of GitLab'),
}

export const SERVICE_FIELDS: Readonly<Record<string, KeywordUse>> = {
  ...IMAGE_FIELDS,
  alias: RUN,
  command: RUN,
  variables: RUN,
}

export const CACHE_FIELDS: Readonly<Record<string, KeywordUse>> = {
  fallback_keys: RUN,
  key: RUN,
  paths: RUN,
  policy: RUN,
  when: RUN,
  unprotect: none('caches of this machine are not protected'),
  untracked: none('untracked files of the working tree are not cached'),
}

export const ARTIFACT_FIELDS: Readonly<Record<string, KeywordUse>> = {
  exclude: RUN,
  paths: RUN,
  when: RUN,
  access: none('artifacts stay on this machine'),
  expire_in: none('artifacts stay until you remove them'),
  expose_as: none('artifacts stay on this machine'),
  name: none('artifacts are copied as files, not as an archive'),
  public: none('artifacts stay on this machine'),
  reports: none('reports are not read; their files are artifacts only if `paths` has them'),
  untracked: none('untracked files of the working tree are not artifacts'),
}
