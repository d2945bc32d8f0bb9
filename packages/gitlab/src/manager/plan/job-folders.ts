/** The folders of a job in its pod. */
import { shortToken } from '../../coordinator/tokens.ts'
import { expandText } from '../../job/expand.ts'
import { isPlainPath } from '../../job/stage-script.ts'
import { ConfigurationError } from '../../pod/configuration-error.ts'
import { configuredVolumes, coversFolder } from '../../pod/volumes.ts'
import type { JobPlanOptions } from './plan-options.ts'

export interface JobFolders {
  readonly buildsFolder: string
  readonly projectFolder: string
  readonly cacheFolder: string
}

/** Returns the folders. Throws `ConfigurationError` for a `GIT_CLONE_PATH` that is not allowed. */
export function foldersOf({ job, runner, place }: Pick<JobPlanOptions, 'job' | 'runner' | 'place'>): JobFolders {
  const valueOf = (name: string): string => job.variables.find(({ key }) => key === name)?.value ?? ''
  const buildsFolder = runner.builds_dir || '/builds'
  const volumes = configuredVolumes(runner.kubernetes?.volumes, (text) => text)
  const isShared = coversFolder(
    { ...volumes, mounts: volumes.mounts.filter(({ name }) => !isEmptyDir(volumes.volumes, name)) },
    buildsFolder,
  )
  const path = job.job_info.project_full_path || valueOf('CI_PROJECT_PATH') || `project-${job.job_info.project_id}`
  const prefix = isShared ? `${buildsFolder}/${shortToken(runner.token ?? '')}/${place.concurrentProjectId}` : buildsFolder
  // The path is needed before the variables of the job exist.
  const own = expandText(valueOf('GIT_CLONE_PATH'), (name) => (name === 'CI_BUILDS_DIR' ? buildsFolder : valueOf(name)))
  if (own !== '' && runner.custom_build_dir?.enabled === false)
    throw new ConfigurationError('GIT_CLONE_PATH has no effect on this runner: [runners.custom_build_dir] is not enabled.')
  if (own !== '' && !own.startsWith(`${buildsFolder}/`))
    throw new ConfigurationError(`GIT_CLONE_PATH "${own}" is not within the builds folder ${buildsFolder}.`)
  const projectFolder = own === '' ? `${prefix}/${path}` : own
  if (!isPlainPath(projectFolder) || projectFolder.split('/').includes('..'))
    throw new ConfigurationError(
      `The folder of the project, "${projectFolder}", has characters that a folder of a job cannot have.`,
    )
  return { buildsFolder, projectFolder, cacheFolder: runner.cache_dir || '/cache' }
}

function isEmptyDir(volumes: readonly Readonly<Record<string, unknown>>[], name: unknown): boolean {
  return volumes.some((volume) => volume['name'] === name && volume['emptyDir'] !== undefined)
}
