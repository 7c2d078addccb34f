# Makes the manual pages of section 3 from a header, which says everything once.
#
#   awk -v to=FOLDER -v version=0.1.0 -f scripts/man3.awk crates/face/capi/include/bcl.h
#
# A page for each function, from the comment before it and its declaration; and one named after the header from the comment
# at the top of the file, with all structures and constants as they stand, under the headings of the file.

# The comment at the top: its first line is "bcl.h - what it is".
NR == 1 {
    header = FILENAME
    sub(/.*\//, "", header)
    library = header
    sub(/\.h$/, "", library)
    overview = to "/" library ".3"
    at_top = 1
    next
}
NR == 2 {
    summary = $0
    sub(/^ \* [a-z_.]* - /, "", summary)
    sub(/\.$/, "", summary)
    begin(overview, library)
    print ".SH NAME\n" library " \\- " escaped(summary) > overview
    print ".SH SYNOPSIS\n.nf\n\\fB#include <" header ">\\fP\n\ncc program.c $(pkg-config \\-\\-cflags \\-\\-libs bcl)\n.fi" > overview
    print ".SH DESCRIPTION" > overview
    next
}
at_top && /^ \*\// { at_top = 0; end_paragraph(overview); next }
at_top && NR > 2 { paragraph_line(overview, substr($0, 4)); next }
at_top { next }

# Headings.
/^\/\* -+ .* \*\/$/ {
    heading = $0
    sub(/^\/\* -+ /, "", heading)
    sub(/ \*\/$/, "", heading)
    end_verbatim()
    print ".SH " toupper(heading) > overview
    started = 1
    next
}

# The comment before a declaration.
/^\/\*\*/ { comment = ""; in_comment = 1 }
in_comment {
    line = $0
    sub(/^\/\*\* ?/, "", line)
    sub(/^ \*\/?( |$)/, "", line)
    if (sub(/ *\*\/$/, "", line) || $0 ~ /^ \*\/$/) in_comment = 0
    comment = comment line "\n"
    next
}

# A function: its own page, and a line in the overview.
/^(int|const char \*) ?(bcl|bbp)_[a-z_]+\(/ { declaration = $0 }
declaration != "" && $0 != declaration { declaration = declaration "\n" $0 }
declaration ~ /;$/ { function_page(); declaration = comment = ""; next }
declaration != "" { next }

# Everything else that has a heading, as it stands.
/^#if|^#endif|^extern|^#ifdef/ { next }
/^}$/ { next }
started && ($0 != "" || verbatim) {
    if (!verbatim) {
        begin_verbatim()
        if (comment != "") { end_verbatim(); paragraphs(overview, comment); comment = ""; begin_verbatim() }
    }
    print escaped($0) > overview
    if ($0 == "") end_verbatim()
}

END {
    end_verbatim()
    print ".SH SEE ALSO\n.BR bcl (" (library == "bcl" ? 1 : 3) ")" > overview
}

function function_page(    name, page, summary, text) {
    name = declaration
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    page = to "/" name ".3"
    sub(/^\n/, "", comment)
    summary = comment
    sub(/\n\n.*/, "", summary)
    gsub(/\n/, " ", summary)
    sub(/[.:;] .*/, "", summary)
    sub(/[. ]+$/, "", summary)
    gsub(/`/, "", summary)
    summary = tolower(substr(summary, 1, 1)) substr(summary, 2)

    begin(page, name)
    print ".SH NAME\n" name " \\- " escaped(summary) > page
    print ".SH SYNOPSIS\n.nf\n\\fB#include <" header ">\\fP\n" > page
    print escaped(declaration) "\n.fi" > page
    print ".SH DESCRIPTION" > page
    paragraphs(page, comment)
    print ".SH RETURN VALUE" > page
    if (declaration ~ /^const char/)
        print "A string that ends with a zero byte; never NULL." > page
    else if (name ~ /_(probe|claim|reflect_wait|wait_reached|news|recv|msgavail|flush|event)$/)
        print "1, 0, or a negative code; \\fBbcl_last_error\\fP(3) gives the sentence." > page
    else if (name ~ /_(poll|wait)$/)
        print "How many were taken, or a negative code; \\fBbcl_last_error\\fP(3) gives the sentence." > page
    else
        print "0, or a negative code; \\fBbcl_last_error\\fP(3) gives the sentence." > page
    print ".SH SEE ALSO\n.BR " library " (3)" > page
    close(page)

    end_verbatim()
    print ".TP\n\\fB" name "\\fP(3)\n" escaped(summary) > overview
}

function begin(page, name) {
    print ".\\\" Made from " header " by scripts/man3.awk." > page
    print ".TH " toupper(name) " 3 \"\" \"BCL " version "\" \"Library Functions Manual\"" > page
}

function begin_verbatim() { if (!verbatim) { print ".PP\n.nf" > overview; verbatim = 1 } }
function end_verbatim() { if (verbatim) { print ".fi" > overview; verbatim = 0 } }

# Paragraphs are apart by empty lines; what is indented by more than a space stays as it is.
function paragraphs(page, text,    lines, count, i) {
    count = split(text, lines, "\n")
    for (i = 1; i < count; i++) paragraph_line(page, lines[i])
    end_paragraph(page)
}
function paragraph_line(page, line) {
    if (line == "") { end_paragraph(page); return }
    if (!open_paragraph) {
        if (match(line, /^[A-Z]+\. /)) {
            print ".SS " substr(line, 1, RLENGTH - 2) > page
            line = substr(line, RLENGTH + 1)
        } else {
            print ".PP" > page
        }
        open_paragraph = 1
        if (line ~ /^  /) { print ".nf" > page; open_paragraph = 2 }
    }
    print escaped(line) > page
}
function end_paragraph(page) {
    if (open_paragraph == 2) print ".fi" > page
    open_paragraph = 0
}

# Text that troff takes for nothing but text; names in backticks are italic.
function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    while (match(text, /`[^`]*`/))
        text = substr(text, 1, RSTART - 1) "\\fI" substr(text, RSTART + 1, RLENGTH - 2) "\\fP" substr(text, RSTART + RLENGTH)
    gsub(/\n\./, "\n\\\\\\&.", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}
