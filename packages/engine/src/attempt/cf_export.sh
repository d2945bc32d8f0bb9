#!/bin/sh
# Passes variables to the following steps: cf_export [--mask] NAME=VALUE ... NAME ...
# NAME alone takes the value of the exported variable. --mask is accepted in any position and masks the values in later logs.
# The prefix keeps local variables from shadowing those of the caller.
_cf_mask=
for _cf_word in "$@"; do
  [ "$_cf_word" = --mask ] && _cf_mask='--mask '
done
for _cf_word in "$@"; do
  case $_cf_word in
    --mask) continue ;;
    *=*) _cf_name=${_cf_word%%=*} _cf_value=${_cf_word#*=} ;;
    *) _cf_name=$_cf_word ;;
  esac
  case $_cf_name in
    '' | [0-9]* | *[!A-Za-z0-9_]*)
      echo "cf_export: '$_cf_name' is not a valid variable name; write NAME=VALUE or NAME, without \$" >&2
      exit 1
      ;;
  esac
  if [ "$_cf_name" = "$_cf_word" ]; then
    eval "_cf_value=\${$_cf_name-}"
    eval "_cf_known=\${$_cf_name+yes}"
    [ -n "$_cf_known" ] || echo "cf_export: $_cf_name is not exported in this shell; its value will be empty" >&2
  fi
  _cf_end=END_OF_VALUE
  while case $_cf_value in *"$_cf_end"*) true ;; *) false ;; esac do _cf_end=${_cf_end}_; done
  printf '%s%s<<%s\n%s\n%s\n' "$_cf_mask" "$_cf_name" "$_cf_end" "$_cf_value" "$_cf_end" >>/windlass/env_vars_to_export || exit 1
done
