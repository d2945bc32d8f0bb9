/** Tests the triggers of a pipeline with a delivery, with an event that is filled in, or with the body of a call. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { FORGES, RepoName, type TriggerTestInput } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { formatExact } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Select } from '../parts/forms/choice.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field, TextArea } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { calls } from './calls.ts'
import { useAway } from '../shell/away-bar.tsx'
import { triggerQueries } from './queries.ts'
import { testInputOf, TestResult } from './test-result.tsx'
import { KIND_WORDS, toTestInput, TYPED_KINDS, type TypedEvent } from './typed-event.ts'

const SOURCES = [
  { value: 'typed', label: 'An event that I fill in' },
  { value: 'delivery', label: 'A delivery' },
  { value: 'body', label: 'The body of a webhook call' },
] as const

interface Call {
  readonly forge: string
  readonly event: string
  readonly body: string
}

interface TestDialogProps {
  readonly pipeline: string
  /** Repository of a trigger, to begin with. */
  readonly repo: string
  readonly onClose: () => void
}

export function TestDialog({ pipeline, repo, onClose }: TestDialogProps): ReactElement {
  const [source, setSource] = useState('typed')
  const [typed, setTyped] = useState<TypedEvent>({ kind: 'push', repo, branch: 'main', target: 'main', text: '', files: '' })
  const [delivery, setDelivery] = useState('')
  const [call, setCall] = useState<Call>({ forge: 'github', event: 'push', body: '' })
  const away = useAway()
  const trial = useMutation({ mutationFn: async () => calls.triggers.test(await readInput()) })

  async function readInput(): Promise<TriggerTestInput> {
    if (source === 'typed') return toTestInput(typed, pipeline)
    if (source === 'body') return toInput(call, pipeline)
    const input = testInputOf(await calls.deliveries.get(delivery))
    if (input === undefined) throw new Error('The delivery has no stored body.')
    return { ...input, pipeline }
  }
  const missing =
    source === 'typed'
      ? !RepoName.safeParse(typed.repo).success && 'The repository is not owner/name.'
      : source === 'body'
        ? call.body.trim() === '' && 'The body is empty.'
        : delivery === '' && 'No delivery is chosen.'
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={`Test the triggers of ${pipeline}`}
      actions={
        <>
          <Button
            tone="primary"
            off={away ?? (missing === false ? undefined : missing)}
            isBusy={trial.isPending}
            onClick={() => trial.mutate()}
          >
            Test the triggers
          </Button>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <p className={layout['note']}>Tells which triggers would start a build, and which rule stops the others. Starts nothing.</p>
      <Select
        label="Test with"
        options={SOURCES}
        value={source}
        onChange={(value) => {
          setSource(value)
          trial.reset()
        }}
      />
      {source === 'typed' && <Typed event={typed} onChange={(more) => setTyped({ ...typed, ...more })} />}
      {source === 'delivery' && <FromDelivery pipeline={pipeline} id={delivery} onChange={setDelivery} />}
      {source === 'body' && <FromBody call={call} onChange={(more) => setCall({ ...call, ...more })} />}
      {trial.error !== null && <Problem error={trial.error} />}
      {trial.data !== undefined && <TestResult result={trial.data} />}
      <Command text={sh`windlass trigger test FILE --pipeline ${pipeline}`} />
    </Dialog>
  )
}

function toInput({ forge: name, event, body }: Call, pipeline: string): TriggerTestInput {
  const forge = FORGES.find((one) => one === name) ?? 'github'
  return { forge, body, pipeline, ...(event.trim() !== '' && { event: event.trim() }) }
}

interface TypedProps {
  readonly event: TypedEvent
  readonly onChange: (more: Partial<TypedEvent>) => void
}

function Typed({ event, onChange }: TypedProps): ReactElement {
  const { kind, repo, branch, target, text, files } = event
  const isPush = kind === 'push' || kind === 'tag'
  const textLabel = isPush ? 'Commit message' : kind === 'comment' ? 'Comment' : 'Title'
  return (
    <>
      <div className={layout['pair']}>
        <Select
          label="Event"
          options={TYPED_KINDS.map((one) => ({ value: one, label: KIND_WORDS[one] }))}
          value={kind}
          onChange={(value) => onChange({ kind: TYPED_KINDS.find((one) => one === value) ?? 'push' })}
        />
        <Field label="Repository" value={repo} onChange={(change) => onChange({ repo: change.target.value })} />
      </div>
      <div className={layout['pair']}>
        {kind !== 'comment' && (
          <Field
            label={kind === 'tag' ? 'Tag' : 'Branch'}
            value={branch}
            onChange={(change) => onChange({ branch: change.target.value })}
          />
        )}
        {(kind === 'opened' || kind === 'merged') && (
          <Field label="Target branch" value={target} onChange={(change) => onChange({ target: change.target.value })} />
        )}
        <Field label={textLabel} value={text} onChange={(change) => onChange({ text: change.target.value })} />
      </div>
      {isPush && (
        <TextArea
          label="Changed files, one on each line"
          rows={3}
          value={files}
          onChange={(change) => onChange({ files: change.target.value })}
        />
      )}
      <p className={layout['note']}>The event has the form of GitHub. For another forge, test with the body of a call.</p>
    </>
  )
}

interface FromDeliveryProps {
  readonly pipeline: string
  readonly id: string
  readonly onChange: (id: string) => void
}

function FromDelivery({ pipeline, id, onChange }: FromDeliveryProps): ReactElement {
  const { data, error } = useQuery(triggerQueries.lastDeliveries(pipeline))
  const options = (data?.items ?? []).map(({ id: value, event, branch, receivedAt }) => ({
    value,
    label: [formatExact(receivedAt).split(' (')[0], event, branch].filter((part) => part !== undefined).join(' · '),
  }))
  if (error !== null) return <Problem error={error} />
  return (
    <Select
      label="Delivery"
      hint="The newest deliveries that were judged for this pipeline."
      options={[{ value: '', label: options.length === 0 ? 'There are none yet' : 'Choose one' }, ...options]}
      value={id}
      onChange={onChange}
    />
  )
}

interface FromBodyProps {
  readonly call: Call
  readonly onChange: (more: Partial<Call>) => void
}

function FromBody({ call, onChange }: FromBodyProps): ReactElement {
  return (
    <>
      <div className={layout['pair']}>
        <Select
          label="Forge"
          options={FORGES.map((forge) => ({ value: forge, label: forge }))}
          value={call.forge}
          onChange={(forge) => onChange({ forge })}
        />
        <Field
          label="Name of the event, as the header has it"
          value={call.event}
          onChange={(change) => onChange({ event: change.target.value })}
        />
      </div>
      <TextArea
        label="Body"
        rows={8}
        spellCheck={false}
        value={call.body}
        onChange={(change) => onChange({ body: change.target.value })}
      />
    </>
  )
}
