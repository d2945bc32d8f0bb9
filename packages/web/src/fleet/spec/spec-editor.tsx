/** Changes the own layer of a runtime as text. The problems of the server are shown at their lines. */
import { useMutation } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import type { Runtime } from '@windlass/protocol'
import { useRef, useState, type ReactElement } from 'react'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { client } from '../../server/client.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { tell } from '../../shell/toasts.tsx'
import { useOff } from '../../shell/use-off.ts'
import styles from '../fleet.module.css'
import { saveRuntime } from '../save-runtime.ts'
import { SpecConflict } from './spec-conflict.tsx'
import { placeProblems, readSpec, writeSpec, type PlacedProblem } from './spec-text.ts'
import { SpecTextArea } from './spec-text-area.tsx'

interface EditorProps {
  readonly runtime: Runtime
  readonly onClose: () => void
}

export function SpecEditor({ runtime, onClose }: EditorProps): ReactElement {
  // The version that the text is based on, whatever is read again meanwhile.
  const [base, setBase] = useState(runtime)
  const [text, setText] = useState(() => writeSpec(runtime.spec))
  const [reason, setReason] = useState('')
  const [theirs, setTheirs] = useState<Runtime>()
  const area = useRef<HTMLTextAreaElement>(null)
  const off = useOff('manage-runners')
  const read = readSpec(text)
  const save = useMutation({
    mutationFn: async (on: Runtime) => {
      if ('spec' in read) return saveRuntime({ runtime: on, spec: read.spec, description: reason.trim() })
      return undefined
    },
    onSuccess: (saved) => {
      if (saved === undefined) return
      tell({ text: saved.version === base.version ? 'Nothing has changed.' : `Version ${saved.version} is saved.` })
      onClose()
    },
    onError: async (error) => {
      if (isFault(error, 'conflict')) setTheirs(await client.runtimes.get(runtime.name).catch(() => undefined))
    },
  })
  const run = (on: Runtime): void => {
    if (off === undefined && 'spec' in read && !save.isPending) save.mutate(on)
  }
  useShortcuts('Editor', [{ keys: 'Ctrl+s', does: 'Save the specification', run: () => run(base) }])
  const problems = 'problems' in read ? read.problems : problemsOf(text, save.error)
  if (theirs !== undefined && 'spec' in read)
    return (
      <SpecConflict
        base={base}
        theirs={theirs}
        mine={read.spec}
        isBusy={save.isPending}
        onBack={() => {
          setTheirs(undefined)
          save.reset()
        }}
        onTakeTheirs={() => {
          setBase(theirs)
          setText(writeSpec(theirs.spec))
          setTheirs(undefined)
          save.reset()
        }}
        onKeepMine={() => {
          setBase(theirs)
          setTheirs(undefined)
          run(theirs)
        }}
      />
    )
  return (
    <form
      className={styles['stack']}
      onSubmit={(event) => {
        event.preventDefault()
        run(base)
      }}
    >
      <p className="quiet">
        The own layer of <bdi>{runtime.name}</bdi>, version {base.version}. A value here overrides that of the layers it extends;
        null removes it.
      </p>
      <SpecTextArea ref={area} text={text} problems={problems} onChange={setText} />
      {save.error !== null && theirs === undefined && <Problem error={save.error} />}
      <ProblemList problems={problems} onGo={(line) => goTo(area.current, line)} />
      <div className={styles['reason']}>
        <Field
          label="Reason, for the history"
          maxLength={1_000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </div>
      <div className={styles['buttons']}>
        <Button
          type="submit"
          tone="primary"
          off={off ?? ('problems' in read ? 'The text cannot be read.' : undefined)}
          isBusy={save.isPending}
        >
          Save the specification
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
      <Command text={sh`windlass patch re ${runtime.name} -f re.yaml`} />
    </form>
  )
}

/** Returns the problems that the server found, at their lines. */
function problemsOf(text: string, error: unknown): readonly PlacedProblem[] {
  return isFault(error) && error.details.problems !== undefined ? placeProblems(text, error.details.problems) : []
}

/** Selects a line, so that the view scrolls to it. */
function goTo(area: HTMLTextAreaElement | null, line: number): void {
  if (area === null) return
  const lines = area.value.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  area.focus()
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
}

function ProblemList({
  problems,
  onGo,
}: {
  readonly problems: readonly PlacedProblem[]
  readonly onGo: (line: number) => void
}): ReactElement | null {
  if (problems.length === 0) return null
  return (
    <ul className={styles['problems']} aria-label="Problems of the text" role="alert">
      {problems.map(({ line, message }) => (
        <li key={`${line} ${message}`}>
          <Button small tone="quiet" onClick={() => onGo(line)}>
            Line {line}
          </Button>
          <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  )
}
