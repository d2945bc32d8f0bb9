/** The stages of a job in their order: what runs where, when, and how often it is tried. Rules of the runners of GitLab. */
import { downloadStages, uploadStages } from './artifact-stages.ts'
import { restoreStages, saveStages } from './cache-stages.ts'
import { readGitOptions } from './git-options.ts'
import type { JobStep } from './payload.ts'
import { clearSources, writeSources, type Sources } from './sources-script.ts'
import { helperStage, type Stage, type StagesOptions } from './stage.ts'
import { addCommands, removeVariableFiles, stageScript, writeVariableFiles } from './stage-script.ts'

const AFTER_SCRIPT_MS = 5 * 60_000

/** Returns the stages of a job. */
export function jobStages(options: StagesOptions): Stage[] {
  const { job, sources } = options
  return [
    helperStage(options, {
      name: 'prepare_script',
      title: 'Preparing environment',
      write: (script) => {
        writeVariableFiles(script, options)
        // Images with a user of their own have to write there as well.
        if (sources === undefined) script.run('chmod', '-R', 'a+rwX', options.projectFolder)
        script.raw(`printf 'Running on %s...\\n' "$(hostname)"`)
      },
    }),
    ...(sources === undefined ? [] : [sourcesStage(options, sources)]),
    ...restoreStages(options),
    ...downloadStages(options),
    ...job.steps.filter(({ name }) => name !== 'after_script').map((step) => stepStage(options, step)),
    ...job.steps
      .filter(({ name, script }) => name === 'after_script' && script.length > 0)
      .map((step) => afterStage(options, step)),
    ...(['on_success', 'on_failure'] as const).flatMap((when) => saveStages(options, when)),
    ...(['on_success', 'on_failure'] as const).flatMap((when) => uploadStages(options, when)),
    helperStage(options, {
      name: 'cleanup_file_variables',
      title: 'Cleaning up project directory and file based variables',
      when: 'always',
      isFatal: false,
      write: (script) => removeVariableFiles(script, options),
    }),
  ]
}

function sourcesStage(options: StagesOptions, given: NonNullable<StagesOptions['sources']>): Stage {
  const { job, hooks, repoUrl, projectFolder, temporaryFolder, variables } = options
  const git = readGitOptions(variables, job.git_info.depth)
  const ofJob = (name: string): string[] => job.hooks.filter((hook) => hook.name === name).map(({ script }) => script.join('\n'))
  const texts = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : [text])
  const { ref, sha, refspecs, repo_object_format: objectFormat } = job.git_info
  const sources: Sources = {
    ...given,
    options: git,
    repoUrl,
    projectFolder,
    temporaryFolder,
    ref,
    sha,
    refspecs,
    objectFormat,
    before: [...texts(hooks.beforeSources), ...ofJob('pre_get_sources_script')],
    after: [...ofJob('post_get_sources_script'), ...texts(hooks.afterSources)],
  }
  return helperStage(options, {
    name: 'get_sources',
    title: 'Getting source from Git repository',
    attempts: git.attempts,
    // A limit that is not positive is that of the job.
    ...(options.sourcesMs !== undefined && options.sourcesMs > 0 && { timeoutMs: options.sourcesMs }),
    clear: {
      name: 'clear_worktree',
      title: 'Deleting all tracked and untracked files due to source fetch failure',
      script: stageScript(options, (script) => clearSources(script, sources)),
    },
    write: (script) => writeSources(script, sources),
  })
}

function stepStage(options: StagesOptions, step: JobStep): Stage {
  const { hooks, projectFolder, flags } = options
  const checksEach = flags.FF_ENABLE_BASH_EXIT_CODE_CHECK
  return {
    name: `step_${step.name}`,
    title: `Executing "step_${step.name}" stage of the job script`,
    container: 'build',
    when: step.when,
    attempts: 1,
    isFatal: step.allow_failure !== true,
    script: stageScript(options, (script) => {
      script.run('cd', projectFolder)
      if (hooks.beforeBuild) addCommands(script, [hooks.beforeBuild], { checksEach })
      addCommands(script, step.script, { checksEach })
      if (hooks.afterBuild) addCommands(script, [hooks.afterBuild], { checksEach })
    }),
  }
}

function afterStage(options: StagesOptions, step: JobStep): Stage {
  const { variables, projectFolder } = options
  return {
    name: 'after_script',
    title: 'Running after_script',
    container: 'build',
    when: 'always',
    attempts: 1,
    isFatal: variables.valueOf('AFTER_SCRIPT_IGNORE_ERRORS') === 'false',
    timeoutMs: AFTER_SCRIPT_MS,
    script: stageScript(options, (script) => {
      script.run('cd', projectFolder)
      // A failed command does not keep the others from running, unless it counts.
      if (variables.valueOf('AFTER_SCRIPT_IGNORE_ERRORS') !== 'false') script.raw('set +o errexit')
      addCommands(script, step.script)
    }),
  }
}
