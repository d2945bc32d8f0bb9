/** Paths in the shared configuration repository. They are relative to the folder of the repository URL, without a slash at their start. */

/** Name of the application that applies the repository to the cluster of its runtime. */
export const IN_CLUSTER = 'in-cluster'
/** Git has no empty folders. */
export const KEEP_FILE = '.gitkeep'
/** All that runtimes apply is below it. */
export const RESOURCES = 'resources'

const EVERYWHERE = 'all-runtimes-all-clusters'
const CONTROL_PLANES = 'control-planes'
const PROJECTS = 'app-projects'
const CONFIGURATIONS = 'configurations'
const RUNTIMES = 'runtimes'

/** Folders of `resources` that do not belong to one runtime. */
export const COMMON_FOLDERS: readonly string[] = [EVERYWHERE, PROJECTS, CONFIGURATIONS, CONTROL_PLANES, RUNTIMES]

/** Folders of every shared repository. */
export const SHARED_FOLDERS = [
  `${RESOURCES}/${EVERYWHERE}/promotion-workflows`,
  `${RESOURCES}/${CONTROL_PLANES}/promotion-workflows`,
  `${RESOURCES}/${PROJECTS}`,
  `${RESOURCES}/${CONFIGURATIONS}/products`,
  `${RESOURCES}/${CONFIGURATIONS}/promotion-flows`,
  `${RESOURCES}/${CONFIGURATIONS}/promotion-policies`,
  `${RESOURCES}/${CONFIGURATIONS}/promotion-templates`,
] as const

/** Folder with the applications of a runtime: one for each cluster that it manages, and for its own. */
export function clustersFolder(runtime: string): string {
  return `${RUNTIMES}/${runtime}`
}

/** Folder with what only this runtime applies, such as its Git sources. */
export function runtimeFolder(runtime: string): string {
  return `${RESOURCES}/${RUNTIMES}/${runtime}`
}

export function clusterPath(runtime: string, cluster: string): string {
  return `${clustersFolder(runtime)}/${cluster}.yaml`
}

export function gitSourcePath(runtime: string, name: string): string {
  return `${runtimeFolder(runtime)}/${name}.yaml`
}

/** Returns a path with the folder of the repository URL before it. */
export function below(folder: string, path: string): string {
  return folder === '' ? path : `${folder}/${path}`
}

/** Files in a folder, and in folders inside it. A pattern with `**` alone does not match the files of the folder itself. */
function yamlIn(folder: string): string[] {
  return [`${folder}/*.yaml`, `${folder}/**/*.yaml`]
}

/** Patterns of what a runtime applies to its own cluster, relative to `resources`. A hosted one applies its Git sources only. */
export function inClusterPatterns({
  runtime,
  isHosted,
}: {
  readonly runtime: string
  readonly isHosted?: boolean | undefined
}): string[] {
  const own = `${RUNTIMES}/${runtime}`
  return (isHosted === true ? [own] : [EVERYWHERE, own, CONTROL_PLANES, PROJECTS]).flatMap(yamlIn)
}

/** Patterns of what a configuration runtime applies in addition: products and promotions. */
export const CONFIGURATION_PATTERNS: readonly string[] = yamlIn(CONFIGURATIONS)

/** Patterns of what a runtime applies to its managed clusters. */
export const MANAGED_CLUSTER_PATTERNS: readonly string[] = yamlIn(EVERYWHERE)

/** Returns the pattern that matches what one of `patterns` matches. */
export function joinPatterns(patterns: readonly string[]): string {
  return `{${patterns.join(',')}}`
}

/** Returns the patterns of `joinPatterns`. Undefined for another form, such as braces in braces. */
export function splitPatterns(pattern: string): string[] | undefined {
  if (!/[{}]/.test(pattern)) return [pattern]
  const [, inner] = /^\{([^{}]+)\}$/.exec(pattern) ?? []
  return inner?.split(',')
}
