/** What every container of ours needs that talks to a git server. */
import { readFileSync } from 'node:fs'

/** The beginning of their scripts; secrets come as a tar archive on standard input. */
export const GIT_REMOTE = readFileSync(new URL('git-remote.sh', import.meta.url), 'utf8')

export const GIT_CONFIG = `[credential]
	helper = store --file=/run/windlass/credentials
[safe]
	directory = *
[advice]
	detachedHead = false
[init]
	defaultBranch = main
[gc]
	auto = 0
[core]
	hooksPath = /dev/null
`
