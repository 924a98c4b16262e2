# Holds Rust sources to the limits of CONTRIBUTING.md. Relies on rustfmt: a function ends at a brace as deep as its `fn`.

FNR == 1 { delete start }
FNR == 601 { complain("the file has more than 600 lines") }
/TODO|FIXME/ { complain("finish it, or leave it out") }

/^ *(pub(\([a-z]+\))? )?(const |async |unsafe )*fn / {
    indent = match($0, /[^ ]/)
    start[indent] = FNR
}
/^ *}$/ {
    indent = match($0, /[^ ]/)
    if (indent in start && FNR - start[indent] >= 90) {
        complain("the function from line " start[indent] " has more than 90 lines")
    }
    delete start[indent]
}

function complain(what) {
    print FILENAME ":" FNR ": " what
    wrong = 1
}
END { exit wrong }
