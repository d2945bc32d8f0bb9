/** The rules of a trigger. Pure: an event and a trigger in, a result for each rule out. */
import { isCommit } from '@windlass/forges'
import { defined } from '@windlass/kit'
import { PatternError } from '@windlass/plan'
import {
  TRIGGER_RULES,
  type EventName,
  type GitTrigger,
  type RuleResult,
  type TriggerRule,
  type TriggerVerdict,
} from '@windlass/protocol'
import type { ForgeEvent } from '../../forges/event.ts'
import { matchesFilter } from './filter.ts'
import { matchingAlternative, readGlob } from './glob.ts'

/** Texts in a commit message that skip builds, in any case. */
const SKIP_TEXTS = ['[skip ci]', '[ci skip]', '[no ci]', '[skip codefresh]', '[codefresh skip]'] as const

/** Maximum characters of a value in the text of a result. */
const MAX_SHOWN = 120
/** Maximum changed files in a result. */
const MAX_SHOWN_FILES = 20
/** Maximum changed files that are compared with a glob. More are treated as unknown. */
const MAX_FILES = 3_000

type Check = (trigger: GitTrigger, event: ForgeEvent) => Omit<RuleResult, 'rule'>

/** Returns the result of every rule, in the order of `TRIGGER_RULES`. The trigger builds if all of them hold. */
export function judge(trigger: GitTrigger, event: ForgeEvent): RuleResult[] {
  return TRIGGER_RULES.map((rule) => ({ rule, ...guarded(CHECKS[rule], trigger, event) }))
}

/** Returns what a verdict says of the rules: the first one that does not hold, or that the build needs approval. */
export function conclude(rules: readonly RuleResult[]): Pick<TriggerVerdict, 'reason' | 'message' | 'needsApproval'> {
  const failed = rules.find(({ holds }) => !holds)
  if (failed !== undefined) return { reason: failed.rule, message: failed.text }
  const held = rules.find(({ needsApproval }) => needsApproval)
  return held === undefined ? {} : { message: held.text, needsApproval: true }
}

/** A filter that cannot be used does not hold, and says why. */
function guarded(check: Check, trigger: GitTrigger, event: ForgeEvent): Omit<RuleResult, 'rule'> {
  try {
    return check(trigger, event)
  } catch (error) {
    if (error instanceof PatternError) return no(`The filter cannot be used: ${error.message}.`)
    throw error
  }
}

const CHECKS: Readonly<Record<TriggerRule, Check>> = {
  disabled: ({ disabled }) =>
    disabled ? { ...no('The trigger is disabled.'), value: 'disabled', pattern: 'enabled' } : yes('The trigger is enabled.'),

  event({ events }, { names }) {
    const found = names.find((name) => events.includes(name))
    const value = names.join(', ')
    const pattern = events.join(', ')
    return { ...(found === undefined ? no(`${value} is not in ${pattern}.`) : yes(`${found} is in the list.`)), value, pattern }
  },

  'skip-text'(_trigger, { git: { commitMessage = '' } }) {
    const message = commitMessage.toLowerCase()
    const found = SKIP_TEXTS.find((text) => message.includes(text))
    const sides = { value: short(commitMessage), pattern: `none of ${SKIP_TEXTS.join(', ')}` }
    return found === undefined
      ? { ...yes('The commit message contains no text that skips builds.'), ...sides }
      : { ...no(`The commit message contains ${found}.`), ...sides }
  },

  fork(trigger, { pullRequest, comment, revision }) {
    if (pullRequest === undefined || pullRequest.isFork === false) return yes('The change does not come from a fork.')
    const from =
      pullRequest.isFork === true
        ? 'The pull request comes from a fork'
        : 'The forge does not say whether the pull request comes from a fork'
    if (!trigger.pullRequestAllowForkEvents)
      return { ...no(`${from}, and the trigger does not allow forks.`), value: 'a fork', pattern: 'no fork' }
    // The build, and with it the approval, is for one commit. A branch could move before it is cloned.
    if (!isCommit(revision))
      return no(
        comment === undefined
          ? `${from}, and the forge names only a part of its commit, so the build cannot be approved.`
          : `${from}, and its commit is not known. The webhook must also report pull requests.`,
      )
    const [who, mayWrite] =
      comment === undefined ? ['its author', pullRequest.authorMayWrite] : ['the author of the comment', comment.authorMayWrite]
    if (mayWrite === true) return yes(`${from}, and ${who} may write to the repository.`)
    const why = mayWrite === false ? `${who} may not write to the repository` : `the forge does not say what ${who} may do`
    return { ...yes(`${from}, and ${why}. The build waits for approval.`), needsApproval: true }
  },

  branch(trigger, { branch }) {
    const { branchRegex: filter, branchRegexInput } = trigger
    if (filter === undefined) return yes('The trigger has no filter for branches.')
    if (branch === undefined) return no('The forge does not name the branch.')
    const isWanted = matchesFilter(filter, branch) !== (branchRegexInput === 'multiselect-exclude')
    return compared(isWanted, branch, branchRegexInput === 'multiselect-exclude' ? `not ${filter}` : filter)
  },

  'target-branch'({ pullRequestTargetBranchRegex: filter }, { pullRequest, git }) {
    if (filter === undefined || pullRequest === undefined) return yes('The filter for target branches does not apply.')
    const target = git.pullRequest?.target
    if (target === undefined) return no('The forge does not name the target branch.')
    return compared(matchesFilter(filter, target), target, filter)
  },

  comment({ commentRegex: filter }, { comment }) {
    if (filter === undefined || comment === undefined) return yes('The filter for comments does not apply.')
    return compared(matchesFilter(filter, comment.text), comment.text, filter)
  },

  'comment-author'(trigger, { comment, names }) {
    if (comment === undefined) return yes('The event is not a comment.')
    const isOpen = trigger.skipCommentAuthorAssociationValidation || takesAnyAuthor(trigger.events, names)
    if (isOpen) return yes('The trigger allows every author.')
    if (comment.authorMayWrite === true) return yes(`${comment.author} may write to the repository.`)
    const why =
      comment.authorMayWrite === false
        ? 'may not write to the repository'
        : 'is not known: the forge does not say what the author may do'
    return { ...no(`${comment.author} ${why}.`), value: comment.author, pattern: 'may write to the repository' }
  },

  'modified-files'({ modifiedFilesGlob: written }, { files }) {
    if (written === undefined) return yes('The trigger has no filter for files.')
    if (files === 'all') return yes('All files count as changed, because there is no earlier commit to compare with.')
    if (files === 'unknown' || files.length > MAX_FILES)
      return yes('All files count as changed, because the forge does not name all of them.')
    return checkFiles(written, files)
  },
}

function takesAnyAuthor(events: readonly EventName[], names: readonly EventName[]): boolean {
  const name: EventName = 'pullrequest.commentAddedUnrestricted'
  return events.includes(name) && names.includes(name)
}

function checkFiles(written: string, files: readonly string[]): Omit<RuleResult, 'rule'> {
  const glob = readGlob(written)
  const shown = short(glob.isNegated ? written.trim().slice(1) : written)
  const partOf = (file: string): string | undefined => {
    const part = matchingAlternative(glob, file)
    return part === undefined ? undefined : short(part)
  }
  const deciding = files.find((file) => (matchingAlternative(glob, file) === undefined) === glob.isNegated)
  // The file that decides is always among those that are shown.
  const others = files.filter((file) => file !== deciding).slice(0, MAX_SHOWN_FILES - 1)
  const shownFiles = deciding === undefined ? others : [deciding, ...others]
  const sides = {
    value: `${files.length} changed ${files.length === 1 ? 'file' : 'files'}`,
    pattern: short(written),
    files: shownFiles.map((file) => ({ file: short(file), ...defined({ part: partOf(file) }) })),
  }
  if (deciding !== undefined) {
    const part = partOf(deciding)
    return { ...yes(`${short(deciding)} ${part === undefined ? `is outside of ${shown}` : `matches ${part}`}.`), ...sides }
  }
  const some = files.slice(0, 3).map(short).join(', ')
  const all = `${sides.value} (${some}${files.length > 3 ? ', …' : ''})`
  return { ...no(`None of ${all} ${glob.isNegated ? 'is outside of' : 'matches'} ${shown}.`), ...sides }
}

function compared(holds: boolean, value: string, filter: string): Omit<RuleResult, 'rule'> {
  const text = `"${short(value)}" ${holds ? 'matches' : 'does not match'} ${short(filter)}.`
  return { holds, text, value: short(value), pattern: short(filter) }
}

function short(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function yes(text: string): Omit<RuleResult, 'rule'> {
  return { holds: true, text }
}

function no(text: string): Omit<RuleResult, 'rule'> {
  return { holds: false, text }
}
