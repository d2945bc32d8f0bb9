/** The stages that download and upload the artifacts of a job. */
import type { JobArtifact } from './payload.ts'
import { quoted } from './shell-script.ts'
import { attemptsIn, HELPER, helperStage, runsWhen, type Stage, type StagesOptions } from './stage.ts'

/** Returns the stage that downloads the artifacts of earlier jobs, if there are any. */
export function downloadStages(options: StagesOptions): Stage[] {
  const { job, serverUrl } = options
  const wanted = job.dependencies.filter(({ artifacts_file: file }) => (file?.filename ?? '') !== '')
  if (wanted.length === 0) return []
  const stage = helperStage(options, {
    name: 'download_artifacts',
    title: 'Downloading artifacts',
    attempts: attemptsIn(options, 'ARTIFACT_DOWNLOAD_ATTEMPTS'),
    write: (script) => {
      script.run('mkdir', '-p', options.projectFolder).run('cd', options.projectFolder)
      for (const { id, name, token } of wanted) {
        script.say(`Downloading artifacts for ${name} (${id})...`, 'green')
        // A token on a command line could be read by every process of the pod.
        script.raw(
          `CI_JOB_TOKEN=${quoted(token)} ${[HELPER, 'artifacts-downloader', '--url', serverUrl, '--id', String(id)].map(quoted).join(' ')}`,
        )
      }
    },
  })
  return [stage]
}

/** Returns the stage that uploads or archives artifacts after a result. */
export function uploadStages(options: StagesOptions, when: 'on_success' | 'on_failure'): Stage[] {
  const wanted = options.job.artifacts.filter((artifact) => runsWhen(artifact.when || 'on_success', when))
  if (wanted.length === 0) return []
  const isFailed = when === 'on_failure'
  const { artifactsFolder: folder } = options
  const stage = helperStage(options, {
    name: isFailed ? 'upload_artifacts_on_failure' : 'upload_artifacts_on_success',
    title: `${folder === undefined ? 'Uploading' : 'Archiving'} artifacts for ${isFailed ? 'failed' : 'successful'} job`,
    when,
    write: (script) => {
      script.run('cd', options.projectFolder)
      for (const [index, artifact] of wanted.entries()) {
        if (folder === undefined) script.say('Uploading artifacts...', 'green')
        script.raw(
          folder === undefined
            ? uploadCommand(options, artifact)
            : archiveCommand(options, artifact, artifactFile(folder, index)),
        )
      }
    },
  })
  return [stage]
}

/** Returns the path of an archive in the folder of artifacts. */
export function artifactFile(folder: string, index: number): string {
  return `${folder}/${index}.zip`
}

function archiveCommand({ variables }: StagesOptions, artifact: JobArtifact, file: string): string {
  const words = [HELPER, 'artifacts-archiver', '--file', file, ...pathOptions(variables, artifact)]
  return words.map(quoted).join(' ')
}

function pathOptions(variables: StagesOptions['variables'], artifact: JobArtifact): string[] {
  return [
    ...artifact.paths.flatMap((path) => ['--path', variables.expand(path)]),
    ...artifact.exclude.flatMap((path) => ['--exclude', variables.expand(path)]),
    ...(artifact.untracked === true ? ['--untracked'] : []),
  ]
}

function uploadCommand({ job, serverUrl, variables, uploadMs = 0 }: StagesOptions, artifact: JobArtifact): string {
  const optional = (option: string, value: string): string[] => (value === '' ? [] : [option, value])
  const words = [
    HELPER,
    'artifacts-uploader',
    '--url',
    serverUrl,
    '--id',
    String(job.id),
    ...(uploadMs > 0 ? ['--timeout', `${Math.ceil(uploadMs / 1_000)}s`] : []),
    ...pathOptions(variables, artifact),
    ...optional('--name', variables.expand(artifact.name)),
    ...optional('--expire-in', artifact.expire_in),
    ...optional('--artifact-format', artifact.artifact_format),
    ...optional('--artifact-type', artifact.artifact_type),
  ]
  return `CI_JOB_TOKEN=${quoted(job.token)} ${words.map(quoted).join(' ')}`
}
