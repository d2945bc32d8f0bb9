/** Script preamble and configuration for containers that contact a git server. */
import { readFileSync } from 'node:fs'

/** The start of their scripts. Secrets arrive as a tar archive on standard input. */
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
	fsmonitor = false
`
