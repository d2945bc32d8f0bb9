/** Adds or changes a trigger for events of a Git repository. Fields that the form does not have keep their values. */
import { useMutation } from '@tanstack/react-query'
import { EVENT_NAMES, TriggerInput, type EventName, type PipelineTrigger } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Check, Checks } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { useAway } from '../shell/away-bar.tsx'
import { toInput } from './describe-trigger.ts'
import { storeGitTrigger } from './store-trigger.ts'
import { toGitCommand } from './trigger-command.ts'

/** Events that most triggers name. Others are written by hand. */
const USUAL: readonly EventName[] = [
  'push.heads',
  'push.tags',
  'pullrequest.opened',
  'pullrequest.synchronize',
  'pullrequest.reopened',
  'pullrequest.merged',
  'pullrequest.commentAdded',
  'release.released',
]

const TEXTS = [
  'branchRegex',
  'pullRequestTargetBranchRegex',
  'commentRegex',
  'modifiedFilesGlob',
  'context',
  'description',
] as const
type TextName = (typeof TEXTS)[number]

const LABELS: Readonly<Record<TextName, readonly [string, string]>> = {
  branchRegex: ['Branches or tags', '/regular expression/ or a glob. Empty: all.'],
  pullRequestTargetBranchRegex: ['Target branches', 'Of pull requests. Empty: all.'],
  commentRegex: ['Comments', 'Of pull requests. Empty: all.'],
  modifiedFilesGlob: ['Changed files', 'Builds only if one matches: src/** or {a/**,b/**}.'],
  context: ['Git context', 'Accept only its webhooks. Empty: all.'],
  description: ['Description', ''],
}

interface GitFormProps {
  readonly pipeline: string
  /** The trigger that is changed. */
  readonly trigger?: PipelineTrigger
  readonly onClose: () => void
}

export function GitForm({ pipeline, trigger, onClose }: GitFormProps): ReactElement {
  const away = useAway()
  const [name, setName] = useState(trigger?.name ?? '')
  const [repo, setRepo] = useState(trigger?.repo ?? '')
  const [events, setEvents] = useState<readonly string[]>(trigger?.events ?? ['push.heads'])
  const [texts, setTexts] = useState(() => Object.fromEntries(TEXTS.map((one) => [one, trigger?.[one] ?? ''])))
  const [takesForks, setTakesForks] = useState(trigger?.pullRequestAllowForkEvents ?? false)
  const others = events.filter((event) => !(USUAL as readonly string[]).includes(event))
  const input = {
    ...(trigger === undefined ? {} : omitTexts(toInput(trigger))),
    ...Object.fromEntries(Object.entries(texts).flatMap(([key, value]) => (value.trim() === '' ? [] : [[key, value.trim()]]))),
    pipeline,
    name: name.trim(),
    repo: repo.trim(),
    events,
    pullRequestAllowForkEvents: takesForks,
  }
  const checked = TriggerInput.safeParse(input)
  const wrong = checked.success ? undefined : explain(checked.error.issues[0])
  const store = useMutation({
    mutationFn: async () => checked.data && storeGitTrigger(checked.data, trigger?.id),
    onSuccess: onClose,
  })
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={trigger === undefined ? `Add a trigger for git events to ${pipeline}` : `Trigger ${trigger.name} of ${pipeline}`}
      actions={
        <>
          <Button tone="primary" off={away ?? wrong} isBusy={store.isPending} onClick={() => store.mutate()}>
            {trigger === undefined ? 'Add the trigger' : 'Save the trigger'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <div className={layout['pair']}>
        <Field label="Name" value={name} onChange={(event) => setName(event.target.value)} />
        <Field
          label="Repository"
          hint="owner/name. It need not be the one that is cloned."
          value={repo}
          onChange={(event) => setRepo(event.target.value)}
        />
      </div>
      <Checks legend="Events" options={USUAL} chosen={events} onChange={setEvents} />
      <Field
        label="Other events, separated by commas"
        value={others.join(', ')}
        list="event-names"
        onChange={(event) => {
          const written = event.target.value.split(',').map((one) => one.trim())
          setEvents([
            ...events.filter((one) => (USUAL as readonly string[]).includes(one)),
            ...written.filter((one) => one !== ''),
          ])
        }}
      />
      <datalist id="event-names">
        {EVENT_NAMES.map((event) => (
          <option key={event} value={event} />
        ))}
      </datalist>
      <div className={layout['pair']}>
        {TEXTS.map((one) => (
          <Field
            key={one}
            label={LABELS[one][0]}
            hint={LABELS[one][1] === '' ? undefined : LABELS[one][1]}
            value={texts[one] ?? ''}
            onChange={(event) => setTexts({ ...texts, [one]: event.target.value })}
          />
        ))}
      </div>
      <Check
        label="Build pull requests of forks. Those of strangers wait for an approval."
        isOn={takesForks}
        onChange={setTakesForks}
      />
      {wrong !== undefined && name !== '' && repo !== '' && <p role="alert">{wrong}</p>}
      {store.error !== null && <Problem error={store.error} />}
      <Command
        text={
          trigger === undefined
            ? toGitCommand({ pipeline, name, repo, events, filters: filtersOf(texts), takesForks })
            : sh`windlass get triggers ${`${pipeline}#${trigger.name}`} -o yaml`
        }
      />
    </Dialog>
  )
}

/** Returns the filters by the flags of the command. */
function filtersOf(texts: Readonly<Record<string, string>>): Parameters<typeof toGitCommand>[0]['filters'] {
  const { context = '', branchRegex = '', pullRequestTargetBranchRegex = '', commentRegex = '', modifiedFilesGlob = '' } = texts
  return {
    context,
    branch: branchRegex,
    'target-branch': pullRequestTargetBranchRegex,
    comment: commentRegex,
    files: modifiedFilesGlob,
  }
}

/** Removes the texts that the form has: an empty field removes its filter. */
function omitTexts(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([key]) => !(TEXTS as readonly string[]).includes(key)))
}

/** Returns what is wrong with a field, in one sentence. */
export function explain(issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): string {
  if (issue === undefined) return 'The form is not complete.'
  const place = issue.path.map(String).join('.')
  return place === '' ? issue.message : `${place}: ${issue.message}`
}
