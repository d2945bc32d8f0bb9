/** Edits the document of a pipeline. */
import { isFault } from '@windlass/kit/faults'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useEffect, useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Tabs } from '../parts/tabs.tsx'
import { When } from '../parts/when.tsx'
import { RunForm } from '../pipelines/run-form.tsx'
import { toInput } from '../pipelines/pipeline-input.ts'
import { savePipeline } from '../pipelines/save-pipeline.ts'
import { client } from '../server/client.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { useOff } from '../shell/use-off.ts'
import { triggerQueries } from '../triggers/queries.ts'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import { Conflict } from './conflict.tsx'
import { DocumentEditor } from './document-editor.tsx'
import { keepDraft, readDraft } from './drafts.ts'
import styles from './editor.module.css'
import { GitDocument } from './git-document.tsx'
import { TriggerSelect } from './trigger-select.tsx'
import type { Checked } from './checks/use-check.ts'

export function EditorTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const { name } = pipeline
  const [draft] = useState(() => readDraft(name))
  // The pipeline that the edit began from. A change by somebody else must not replace it, because the save names its revision.
  // A draft of an earlier revision keeps it, so that its save is a conflict.
  const [base, setBase] = useState({ ...pipeline, revision: draft?.revision ?? pipeline.revision })
  const [text, setText] = useState(draft?.text ?? pipeline.document)
  const [version, setVersion] = useState(0)
  const [checked, setChecked] = useState<Checked>()
  const [written, setWritten] = useState<readonly string[]>()
  const [theirs, setTheirs] = useState<Pipeline>()
  const [isRunOpen, setIsRunOpen] = useState(false)
  const [branch, setBranch] = useState('')
  const [trigger, setTrigger] = useState('')
  const { data: triggers } = useQuery(triggerQueries.git(name))
  const isDirty = text !== base.document
  useEffect(() => {
    keepDraft(name, isDirty ? { revision: base.revision, text } : undefined)
  }, [name, text, isDirty, base.revision])
  const replace = (next: string): void => {
    setText(next)
    setVersion((before) => before + 1)
  }
  const show = (other: Pipeline): void => {
    setBase(other)
    setTheirs(undefined)
    replace(other.document)
  }
  // Without changes of its own, the editor follows those of others.
  if (!isDirty && pipeline.revision > base.revision) show(pipeline)
  const save = useMutation({
    // The document is a part of the call: the user can type while it is under way.
    mutationFn: ({ from, document }: { readonly from: Pipeline; readonly document: string }) =>
      savePipeline(from, { ...toInput(from, written), document }),
    onSuccess: (saved, { document }) => {
      setBase(saved)
      setTheirs(undefined)
      setWritten(undefined)
      // The server masks what must not be read again. What was typed since stays, as a change of what was saved.
      if (saved.document !== document && text === document) replace(saved.document)
    },
    onError: async (error) => {
      if (isFault(error, 'conflict')) setTheirs(await client.pipelines.get(base.id).catch(() => undefined))
    },
  })
  const inGit = checked?.source?.kind === 'git' ? checked.source : undefined
  const [of] = useParam('of')
  const isSettings = of === 'settings'
  const off = useOff('change-pipelines')
  const whyNoSave = off ?? (isDirty ? undefined : 'Nothing has changed.')
  const start = (): void => {
    if (whyNoSave === undefined && !save.isPending) save.mutate({ from: base, document: text })
  }
  useShortcuts('Editor', [
    { keys: 'Ctrl+s', does: 'Save', run: start },
    { keys: 'Ctrl+Enter', does: 'Run the draft', run: () => setIsRunOpen(true) },
  ])
  const take = (other: Pipeline): void => {
    show(other)
    save.reset()
  }
  const keep = (found: Checked): void => {
    setChecked(found)
    // What the saved document wrote is not sent again beside the new document.
    if (written === undefined && found.text === base.document) setWritten(found.written ?? [])
  }
  return (
    <div className={styles['editor']}>
      <div className={styles['bar']}>
        <p className="quiet">
          {isDirty ? 'Not saved' : 'Saved'} · revision {base.revision}, <When at={base.updatedAt} />
        </p>
        <div className={styles['buttons']}>
          {isDirty && (
            <Button tone="quiet" onClick={() => take(pipeline)}>
              Discard changes
            </Button>
          )}
          {isDirty && <Button onClick={() => setIsRunOpen(true)}>Run this draft</Button>}
          <Button tone="primary" off={whyNoSave} isBusy={save.isPending} onClick={start}>
            Save
          </Button>
        </div>
      </div>
      {inGit !== undefined && (
        <>
          <Tabs
            label="Documents of the pipeline"
            tabs={[
              { label: 'Steps in the repository', href: paths.pipeline(name, 'edit'), isCurrent: !isSettings },
              { label: 'Settings document', href: `${paths.pipeline(name, 'edit')}?of=settings`, isCurrent: isSettings },
            ]}
          />
          {!isSettings && <GitDocument pipeline={base} where={inGit.where} />}
        </>
      )}
      {save.error !== null && theirs === undefined && <Problem error={save.error} />}
      {theirs !== undefined && (
        <Conflict
          mine={text}
          theirs={theirs}
          off={off}
          isBusy={save.isPending}
          onKeepMine={() => save.mutate({ from: theirs, document: text })}
          onTakeTheirs={() => take(theirs)}
          onGoOn={() => {
            setBase(theirs)
            setTheirs(undefined)
            save.reset()
          }}
        />
      )}
      <div hidden={inGit !== undefined && !isSettings}>
        <DocumentEditor
          pipeline={name}
          text={text}
          version={version}
          planWith={{ branch, trigger }}
          onChange={setText}
          onSave={start}
          onRun={() => setIsRunOpen(true)}
          onChecked={keep}
          planFields={
            <div className={styles['planFields']}>
              <Field label="Plan for branch" value={branch} maxLength={500} onChange={(event) => setBranch(event.target.value)} />
              <TriggerSelect names={triggers?.items.map((one) => one.name) ?? []} value={trigger} onChange={setTrigger} />
            </div>
          }
        />
      </div>
      <Command text={sh`windlass plan --pipeline ${name} -f pipeline.yml`} />
      <Dialog
        isOpen={isRunOpen}
        onClose={() => setIsRunOpen(false)}
        title={isDirty ? 'Run this draft' : 'Run the pipeline'}
        isWide
      >
        <RunForm pipeline={base} {...(isDirty && { draft: text })} first={{ branch, trigger }} />
      </Dialog>
    </div>
  )
}
