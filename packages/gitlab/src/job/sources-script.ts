/**
 * The stage that gets the sources of a job: a repository in the state of its commit, whatever an earlier job has left there. The token stands in a file beside
 * the sources, never in the configuration of the repository. Rules of the runners of GitLab.
 */
import { configText, type ConfigEntry } from './git-config.ts'
import type { GitOptions } from './git-options.ts'
import { quoted, type ShellScript } from './shell-script.ts'

export interface Sources {
  readonly options: GitOptions
  /** URL with a login, as the server sends it, or with another host. */
  readonly repoUrl: string
  readonly projectFolder: string
  /** Folder beside the sources. */
  readonly temporaryFolder: string
  readonly ref: string
  readonly sha: string
  readonly refspecs: readonly string[]
  readonly objectFormat: string
  /** Product and version, which git sends. */
  readonly userAgent: string
  /** Identifies the request of the job in the logs of the server. */
  readonly correlationId: string | undefined
  /** Path of a PEM file with the authority of the server. */
  readonly caFile: string | undefined
  /** `clean_git_config`: what a job could have written into the repository to be run by git is removed. */
  readonly cleansConfig: boolean
  readonly isSafeDirectory: boolean
  /** Scripts of the configuration and of the job, in the order in which they run. */
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Writes the stage. */
export function writeSources(script: ShellScript, sources: Sources): void {
  const { options, projectFolder } = sources
  for (const warning of options.warnings) script.say(`WARNING: ${warning}`, 'yellow')
  // A job that asks for a login would wait for ever.
  script.set('GIT_TERMINAL_PROMPT', '0').set('GCM_INTERACTIVE', 'Never')
  if (options.strategy === 'none') {
    script.say('Skipping Git repository setup').run('mkdir', '-p', projectFolder)
    return
  }
  if (options.strategy === 'empty') {
    script.say('Skipping Git repository setup and creating an empty build directory')
    script.run('rm', '-rf', projectFolder).run('mkdir', '-p', projectFolder)
    return
  }
  for (const hook of sources.before) script.raw(hook)
  fetchSources(script, sources)
  if (options.isCheckedOut) checkOut(script, sources)
  else script.say('Skipping Git checkout')
  if (options.submodules === 'none') script.say('Skipping Git submodules setup')
  else updateSubmodules(script, sources)
  for (const hook of sources.after) script.raw(hook)
}

/** Removes all sources, before another try to get them. */
export function clearSources(script: ShellScript, { projectFolder }: Pick<Sources, 'projectFolder'>): void {
  script.say('Deleting all tracked and untracked files due to source fetch failure')
  script.run('rm', '-rf', projectFolder)
}

function fetchSources(script: ShellScript, sources: Sources): void {
  const { options, projectFolder, temporaryFolder, refspecs } = sources
  const template = `${temporaryFolder}/git-template`
  if (options.strategy === 'clone') script.run('rm', '-rf', projectFolder)
  else removeLeftovers(script, sources)
  const isFetched = options.depth > 0 ? ` with git depth set to ${options.depth}` : ''
  script.say(`Fetching changes${isFetched}...`)
  const config = configFileOf(sources)
  script.when(`[ -e ${quoted(template)} ] || [ -e ${quoted(config)} ]`, (then) => then.run('rm', '-rf', template, config))
  script.run('mkdir', '-p', template)
  writeConfig(script, sources)
  script.raw(`_is_new=1; if [ -e ${quoted(`${projectFolder}/.git`)} ]; then _is_new=0; fi`)
  script.raw(`_was_there=0; if [ -e ${quoted(projectFolder)} ]; then _was_there=1; fi`)
  const format = sources.objectFormat === 'sha256' ? ['--object-format=sha256'] : []
  // A repository without a configuration takes the one of the template.
  script.run('git', 'init', '--quiet', ...format, '--template', template, projectFolder)
  script.run('cd', projectFolder)
  if (sources.isSafeDirectory) trustFolder(script, projectFolder)
  script.when(
    '[ "$_is_new" = 1 ]',
    // What is new needs no maintenance.
    (then) => then.say('Created fresh repository.').raw('_maintains=false'),
    (otherwise) => keepConfigured(otherwise.raw('_maintains=true'), sources),
  )
  const depth = options.depth > 0 ? ['--depth', String(options.depth)] : []
  const words = ['fetch', 'origin', '--no-recurse-submodules', ...refspecs, ...depth, ...options.fetchFlags]
  const fetch = `git -c ${quoted(`http.userAgent=${sources.userAgent}`)} -c maintenance.auto="$_maintains" ${words.map(quoted).join(' ')}`
  if (depth.length > 0) script.raw(fetch)
  else
    script.when(
      '[ -f .git/shallow ]',
      (then) => then.raw(`${fetch} --unshallow`),
      (otherwise) => otherwise.raw(fetch),
    )
}

/** Git refuses a folder of another user. A helper has no configuration of its user yet, so its first one is written without a process of git. */
function trustFolder(script: ShellScript, projectFolder: string): void {
  const text = quoted(configText([{ section: ['safe'], key: 'directory', value: projectFolder }]))
  script.when(
    '[ -n "${HOME:-}" ] && [ -z "${GIT_CONFIG_GLOBAL:-}" ] && [ ! -e "$HOME/.gitconfig" ]',
    (then) => then.raw(`{ printf '%s' ${text} >"$HOME/.gitconfig"; } 2>/dev/null || true`),
    (otherwise) =>
      otherwise
        .raw('if [ -z "$(git config --global --get-all safe.directory 2>/dev/null | grep -Fx "$PWD" || true)" ]; then')
        .raw('  git config --global --add safe.directory "$PWD" 2>/dev/null || true')
        .raw('fi'),
  )
}

/** Locks of an earlier job that was ended, and what it could have written for git to run. */
function removeLeftovers(script: ShellScript, { projectFolder, cleansConfig }: Sources): void {
  const git = `${projectFolder}/.git`
  script.when(`[ -d ${quoted(git)} ]`, (then) => {
    const locks = ['index.lock', 'shallow.lock', 'HEAD.lock', 'config.lock', 'hooks/post-checkout']
    then.run('rm', '-f', ...locks.map((lock) => `${git}/${lock}`))
    then.raw(`find ${quoted(`${git}/refs`)} -name '*.lock' -type f -exec rm -f {} + 2>/dev/null || true`)
    const modules = quoted(`${git}/modules`)
    then.raw(`find ${modules} -name '*.lock' -type f -exec rm -f {} + 2>/dev/null || true`)
    if (!cleansConfig) return
    then.run('rm', '-rf', `${git}/config`, `${git}/hooks`)
    then.raw(`find ${modules} -name config -type f -exec rm -f {} + 2>/dev/null || true`)
    then.raw(`find ${modules} -name hooks -type d -exec rm -rf {} + 2>/dev/null || true`)
  })
}

const configFileOf = ({ temporaryFolder }: Pick<Sources, 'temporaryFolder'>): string => `${temporaryFolder}/git.conf`

/** A repository of an earlier job can have its own configuration. */
function keepConfigured(script: ShellScript, sources: Sources): void {
  const [url, file] = [quoted(withoutLogin(sources.repoUrl)), quoted(configFileOf(sources))]
  script.raw(`git config --local --get-all include.path 2>/dev/null | grep -Fxq ${file} ||`)
  script.raw(`  git config --local --add include.path ${file}`)
  script.raw(`git remote set-url origin ${url} 2>/dev/null || git remote add origin ${url}`)
}

/**
 * Writes the configuration with the login, and the one of a new repository, which includes it. Git needs a process for each entry that it is told to write, and the
 * login would be in its arguments.
 */
function writeConfig(script: ShellScript, sources: Sources): void {
  const [file, template] = [configFileOf(sources), `${sources.temporaryFolder}/git-template/config`]
  script.raw(`(umask 077 && printf '%s' ${quoted(configText(loginEntries(sources)))} >${quoted(file)})`)
  const origin = ['remote', 'origin'] as const
  const entries: readonly ConfigEntry[] = [
    { section: ['include'], key: 'path', value: file },
    { section: origin, key: 'url', value: withoutLogin(sources.repoUrl) },
    { section: origin, key: 'fetch', value: '+refs/heads/*:refs/remotes/origin/*' },
  ]
  script.raw(`printf '%s' ${quoted(configText(entries))} >${quoted(template)}`)
}

function loginEntries({ repoUrl, correlationId, caFile, options }: Sources): readonly ConfigEntry[] {
  const entries: ConfigEntry[] = [
    { section: ['transfer'], key: 'bundleURI', value: 'true' },
    { section: ['credential'], key: 'interactive', value: 'never' },
  ]
  if (correlationId !== undefined)
    entries.push({ section: ['http'], key: 'extraHeader', value: `X-Gitaly-Correlation-ID: ${correlationId}` })
  const url = URL.parse(repoUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) return entries
  if (caFile !== undefined) entries.push({ section: ['http', url.origin], key: 'sslCAInfo', value: caFile })
  const login = url.username === '' ? '' : `${url.username}${url.password === '' ? '' : `:${url.password}`}@`
  const section = ['url', `${url.protocol}//${login}${url.host}/`] as const
  const replaced = [`${url.origin}/`, ...(options.forcesHttps ? [`git@${url.hostname}:`, `ssh://git@${url.hostname}/`] : [])]
  return [...entries, ...replaced.map((value) => ({ section, key: 'insteadOf', value }))]
}

/** Returns the URL without its login. */
export function withoutLogin(text: string): string {
  const url = URL.parse(text)
  if (url === null) return text
  url.username = ''
  url.password = ''
  return url.href
}

function checkOut(script: ShellScript, { sha, ref, options }: Sources): void {
  script.say(`Checking out ${sha.slice(0, 8)} as detached HEAD (ref is ${ref})...`)
  // Files of LFS are fetched together afterwards, not one by one.
  const smudge = 'filter.lfs.smudge=git-lfs smudge --skip -- %f'
  const process = 'filter.lfs.process=git-lfs filter-process --skip'
  script.run('git', '-c', 'submodule.recurse=false', '-c', smudge, '-c', process, 'checkout', '-f', '-q', sha)
  // A folder that git has just made has only its files.
  const { cleanFlags } = options
  if (cleanFlags !== undefined) script.when('[ "$_was_there" = 1 ]', (then) => then.run('git', 'clean', ...cleanFlags))
  if (!options.skipsLfs) pullLfs(script)
}

/** Addresses in the first line of the pointers of LFS, also of its former names ("Git LFS Specification"). */
const LFS_FORMATS = ['://git-lfs.github.com/spec/v', '://hawser.github.com/spec/v', '://git-media.io/v/']

/**
 * Pulls files of LFS if there are any, because `git lfs pull` takes as long as all other commands together. It pulls files with the attribute, and before its version
 * 3.6 other pointers as well. So without files that have the attribute, the files are searched for pointers, also those that git takes for binary ones.
 */
function pullLfs(script: ShellScript): void {
  const hasAttribute = "git ls-files --error-unmatch ':(attr:filter=lfs)' >/dev/null 2>&1"
  const formats = LFS_FORMATS.map((format) => `-e ${quoted(format)}`).join(' ')
  // Other codes than 1 are errors, and then LFS decides.
  const hasPointer = `{ git grep -q -a -F ${formats} >/dev/null 2>&1; [ "$?" -ne 1 ]; }`
  script.when(`{ ${hasAttribute} || ${hasPointer}; } && git lfs version >/dev/null 2>&1`, (then) =>
    then.run('git', 'lfs', 'pull').raw("printf '\\n'"),
  )
}

function updateSubmodules(script: ShellScript, sources: Sources): void {
  const { options } = sources
  // The repositories of submodules do not include the file with the login, so each command names it.
  const git = ['git', '-c', `include.path=${configFileOf(sources)}`]
  const isRecursive = options.submodules === 'recursive'
  const recursive = isRecursive ? ['--recursive'] : []
  const paths = options.submodulePaths.length === 0 ? [] : ['--', ...options.submodulePaths]
  const depth = options.submoduleDepth > 0 ? ['--depth', String(options.submoduleDepth)] : []
  script.say(isRecursive ? 'Updating/initializing submodules recursively...' : 'Updating/initializing submodules...')
  script.run(...git, 'submodule', 'init', ...paths)
  script.run(...git, 'submodule', 'sync', ...recursive, ...paths)
  const clean = options.cleanFlags
  const each = (command: string): string =>
    `${[...git, 'submodule', 'foreach', ...recursive, command].map(quoted).join(' ')} >/dev/null 2>&1 || true`
  if (clean !== undefined) script.raw(each(`git clean ${clean.map(quoted).join(' ')}`))
  script.raw(each('git reset --hard'))
  const update = [...git, 'submodule', 'update', '--init', ...recursive, ...depth, ...options.submoduleUpdateFlags, ...paths]
  script.when(`! ${update.map(quoted).join(' ')}`, (then) => {
    then.say('Updating submodules failed. Retrying...', 'yellow')
    if (options.submoduleUpdateFlags.includes('--remote')) then.raw(each('git fetch origin +refs/heads/*:refs/remotes/origin/*'))
    then.run(...git, 'submodule', 'sync', ...recursive, ...paths).run(...update)
  })
  if (clean !== undefined) script.raw(each(`git clean ${clean.map(quoted).join(' ')}`))
  if (!options.skipsLfs)
    script.when('git lfs version >/dev/null 2>&1', (then) =>
      then.run(...git, 'submodule', 'foreach', ...recursive, 'git lfs pull'),
    )
}
